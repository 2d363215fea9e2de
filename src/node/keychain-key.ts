import { realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { generateRandomState } from 'oauth4webapi'
import { AgentAuthError } from '../errors.ts'
import { invalid } from '../internal/values.ts'
import type { SharedStorage } from '../storage/shared/leased-storage.ts'
import { createFolder, fileFailure } from './private-file.ts'

/** The package `@napi-rs/keyring`, as far as it is used. */
export interface Keyring {
  /** Opens an entry by its service and account. */
  readonly AsyncEntry: new (
    service: string,
    account: string,
    options?: { linux?: { store?: 'secret-service' } },
  ) => KeyringEntry
}

/** An entry of a keychain. */
export interface KeyringEntry {
  /** Resolves to the text of the entry, or to null or undefined if there is none. */
  getPassword(): Promise<string | null | undefined>
  /** Stores the text of the entry. */
  setPassword(text: string): Promise<void>
}

/** The key that a keychain holds for the records of one file. */
export interface KeychainKey {
  /** Rejects with `config_invalid` if the package is not installed. Loads it once. */
  checkInstalled(): Promise<void>
  /** Resolves to the key, or to undefined if there is none or if the keychain cannot be used. */
  find(): Promise<Uint8Array | undefined>
  /** Resolves to the key, which is created if there is none, or to undefined if the keychain cannot be used. */
  create(): Promise<Uint8Array | undefined>
}

export interface KeychainOptions {
  /** Loads `@napi-rs/keyring`. */
  readonly load: () => Promise<Keyring>
  /** Names the service of the entry. */
  readonly name: string
  /** Where the file is. Names the account of the entry, so that no other file shares its key, nor needs its lock. */
  readonly path: string
  /** Its lock keeps two processes from creating a key at once. */
  readonly file: SharedStorage
}

/** 32 bytes, as `generateRandomState` returns them. */
const keyText = /^[\w-]{43}$/

/** Reads the key at its first use, and keeps it in this process. */
export function keychainKey({ load, name, path, file }: KeychainOptions): KeychainKey {
  let found: Uint8Array | undefined
  let isInstalled = false
  /** Resolves to null if there is no key, and to undefined if the keychain cannot be read. */
  const read = async (entry: KeyringEntry): Promise<Uint8Array | null | undefined> => {
    const text = await usable(async () => (await entry.getPassword()) ?? null)
    if (text === null || text === undefined) return text
    if (!keyText.test(text)) throw foreignEntry()
    found = Uint8Array.from(Buffer.from(text, 'base64url'))
    return found
  }
  const open = async (): Promise<KeyringEntry | undefined> => {
    const keyring = await loadKeyring(load)
    if (!keyring) return undefined
    const account = accountOf(path)
    // Without the store, Linux may take the keyring of the kernel, which a restart of the machine clears.
    return usable(async () => new keyring.AsyncEntry(name, account, { linux: { store: 'secret-service' } }))
  }
  return {
    async checkInstalled() {
      if (!isInstalled) await loadKeyring(load)
      isInstalled = true
    },
    async find() {
      const entry = found ? undefined : await open()
      return entry ? ((await read(entry)) ?? undefined) : found
    },
    async create() {
      const entry = found ? undefined : await open()
      if (!entry) return found
      const key = await read(entry)
      return key === null ? file.withLock(`keychain:${name}`, () => readOrAdd(entry)) : key
    },
  }

  async function readOrAdd(entry: KeyringEntry): Promise<Uint8Array | undefined> {
    const key = await read(entry)
    // A keychain that could not be read may have a key. To replace it would make every encrypted record unreadable.
    if (key !== null) return key
    await usable(() => entry.setPassword(generateRandomState()))
    return (await read(entry)) ?? undefined
  }
}

/** Returns the account of a file, which is the same by every name of its folder. Creates the folder. Throws `storage_failed`. */
function accountOf(path: string): string {
  try {
    const folder = dirname(path)
    createFolder(folder)
    return `agent-auth session key of ${join(realpathSync.native(folder), basename(path))}`
  } catch (error) {
    throw fileFailure(path, error)
  }
}

async function loadKeyring(load: () => Promise<Keyring>): Promise<Keyring | undefined> {
  let keyring: Keyring | undefined
  try {
    keyring = await load()
  } catch (error) {
    // The package is there, and its program for this platform is not: this machine has no keychain to use.
    if ((error as NodeJS.ErrnoException | undefined)?.code !== 'ERR_MODULE_NOT_FOUND') return undefined
    invalid('keyring could not load its package. Install @napi-rs/keyring')
  }
  // Without this, records would be plain on a machine that has a keychain.
  if (typeof keyring?.AsyncEntry !== 'function')
    invalid("keyring must return the package: () => import('@napi-rs/keyring'), version 2.1 or later")
  return keyring
}

/** Resolves to undefined if the keychain refuses, is locked or is not there. Its errors may quote the entry. */
async function usable<T>(use: () => Promise<T>): Promise<T | undefined> {
  try {
    return await use()
  } catch {
    return undefined
  }
}

function foreignEntry(): AgentAuthError {
  return new AgentAuthError(
    'storage_failed',
    'The entry of the keychain holds no key of agent-auth. Remove the entry, or choose another name.',
  )
}
