import { resolve } from 'node:path'
import { generateRandomState } from 'oauth4webapi'
import { AgentAuthError } from '../errors.ts'
import { checkNames, checkOneOf, invalid } from '../internal/values.ts'
import type { SharedStorage } from '../storage/shared/leased-storage.ts'
import { fileStorage } from './file-storage.ts'

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

/** The options of `keychainStorage`. */
export interface KeychainStorageOptions {
  /** Loads the package `@napi-rs/keyring`: `() => import('@napi-rs/keyring')`. */
  readonly keyring: () => Promise<Keyring>
  /** Names the entries in the keychain, of which each file has one, as the user sees them. Take the name of your tool. */
  readonly name: string
  /**
   * Sets what happens if the keychain cannot be used: `plain` stores new records as `fileStorage` does, `reject` rejects with
   * `storage_failed`. Default: `plain`.
   */
  readonly withoutKeychain?: 'plain' | 'reject' | undefined
}

/** A storage in a file whose key is in a keychain. */
export interface KeychainStorage extends SharedStorage {
  /**
   * Resolves to how the next write protects its record. Says nothing about a record that is stored already. Creates the key if
   * there is none. Rejects with `storage_failed`.
   */
  protection(): Promise<'keychain' | 'plain'>
}

/** Precedes the text of an encrypted record. */
const encryptedMark = 'keychain:'

/**
 * Creates a storage like `fileStorage` whose records are encrypted with a key in the keychain of the user: macOS Keychain,
 * Windows Credential Manager or the Secret Service of Linux. A record that is encrypted is never replaced by a plain one.
 * Rejects with `storage_failed`, and with `config_invalid` if the package is not installed. Throws `config_invalid`. RFC 7516.
 */
export function keychainStorage(path: string, options: KeychainStorageOptions): KeychainStorage {
  const own = checkNames('keychainStorage', options, ['keyring', 'name', 'withoutKeychain'])
  const { keyring, name, withoutKeychain = 'plain' } = own
  if (typeof keyring !== 'function') invalid("keyring must be a function: () => import('@napi-rs/keyring')")
  if (typeof name !== 'string' || !name) invalid('name must be the name of your tool')
  checkOneOf('withoutKeychain', withoutKeychain, ['plain', 'reject'])
  const file = fileStorage(path)
  const account = `agent-auth session key of ${resolve(path)}`
  let found: Uint8Array | null | undefined

  /** Resolves to the key of the file, or to undefined if there is none or if the keychain cannot be used. */
  async function secretKey(ifMissing: 'create' | 'leave'): Promise<Uint8Array | undefined> {
    if (found) return found
    const entry = await openEntry(keyring, name, account)
    if (!entry) return undefined
    found = await keyIn(entry)
    if (found === null && ifMissing === 'create') {
      // Two processes must not create a key at once.
      found = await file.withLock(`keychain:${name}`, async () => {
        const key = await keyIn(entry)
        // A keychain that could not be read may have a key. To replace it would make every encrypted record unreadable.
        if (key !== null) return key
        await usable(() => entry.setPassword(generateRandomState()))
        return keyIn(entry)
      })
    }
    return found ?? undefined
  }

  async function keyForWrite(): Promise<Uint8Array | undefined> {
    const key = await secretKey('create')
    if (!key && withoutKeychain === 'reject') throw keychainAway()
    return key
  }

  return {
    ...file,
    async getItem(key) {
      const text = await file.getItem(key)
      return text === null ? null : read(await secretKey('leave'), key, text)
    },
    async setItem(key, value) {
      const secret = await keyForWrite()
      if (!secret && (await file.getItem(key))?.startsWith(encryptedMark)) throw keychainAway()
      await file.setItem(key, secret ? await encryptedText(secret, key, value) : value)
    },
    async ready() {
      await file.ready()
      await keyForWrite()
    },
    protection: async () => ((await keyForWrite()) ? 'keychain' : 'plain'),
  }
}

async function encryptedText(secret: Uint8Array, key: string, value: string): Promise<string> {
  const { encrypt } = await encryption()
  return encryptedMark + (await encrypt(new Map([['keychain', secret]]), key, value))
}

async function read(secret: Uint8Array | undefined, key: string, text: string): Promise<string> {
  if (!text.startsWith(encryptedMark)) {
    // Other text than this storage wrote, put there without the key.
    if (secret) throw failed('A stored record is not encrypted, although the keychain has a key for it. Sign in again.')
    return text
  }
  if (!secret) throw keychainAway()
  const { decrypt } = await encryption()
  return decrypt(new Map([['keychain', secret]]), key, text.slice(encryptedMark.length)).catch(() => {
    throw failed('The key in the keychain does not decrypt a stored record. Sign in again.')
  })
}

/** Loads the module at its first use, because it brings most of `jose`. */
function encryption(): Promise<typeof import('../storage/jwe.ts')> {
  return import('../storage/jwe.ts')
}

/** Resolves to the key in an entry, to null if there is none, and to undefined if the keychain cannot be read. */
async function keyIn(entry: KeyringEntry): Promise<Uint8Array | null | undefined> {
  const text = await usable(async () => (await entry.getPassword()) ?? null)
  if (text === null || text === undefined) return text
  // 32 bytes, as `generateRandomState` returns them.
  if (!/^[\w-]{43}$/.test(text))
    throw failed('The entry of the keychain holds no key of agent-auth. Remove the entry, or choose another name.')
  return Uint8Array.from(Buffer.from(text, 'base64url'))
}

async function openEntry(
  load: () => Promise<Keyring>,
  name: string,
  account: string,
): Promise<KeyringEntry | undefined> {
  let keyring: Keyring | undefined
  try {
    keyring = await load()
  } catch (error) {
    // The package is there, and its program for this platform is not: this machine has no keychain to use.
    if ((error as NodeJS.ErrnoException | undefined)?.code !== 'ERR_MODULE_NOT_FOUND') return undefined
    invalid('keyring could not load its package. Install @napi-rs/keyring')
  }
  const { AsyncEntry } = keyring ?? {}
  // Without this, records would be plain on a machine that has a keychain.
  if (typeof AsyncEntry !== 'function')
    invalid("keyring must return the package: () => import('@napi-rs/keyring'), version 2.1 or later")
  // Without the store, Linux may take the keyring of the kernel, which a restart of the machine clears.
  return usable(async () => new AsyncEntry(name, account, { linux: { store: 'secret-service' } }))
}

/** Resolves to undefined if the keychain refuses, is locked or is not there. Its errors may quote the entry. */
function usable<T>(use: () => Promise<T>): Promise<T | undefined> {
  return use().catch(() => undefined)
}

function failed(message: string): AgentAuthError {
  return new AgentAuthError('storage_failed', message)
}

function keychainAway(): AgentAuthError {
  const message =
    'The keychain cannot be used, or has no key for the record. Unlock it and try again, or sign out and sign in again.'
  return new AgentAuthError('storage_failed', message, { retryable: true })
}
