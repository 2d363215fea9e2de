import { resolve } from 'node:path'
import { AgentAuthError } from '../errors.ts'
import { checkNames, invalid } from '../internal/values.ts'
import type { SharedStorage } from '../storage/shared/leased-storage.ts'
import { fileStorage } from './file-storage.ts'
import { type KeychainKey, type Keyring, keychainKey } from './keychain-key.ts'

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
  if (withoutKeychain !== 'plain' && withoutKeychain !== 'reject') invalid('withoutKeychain must be plain or reject')
  const file = fileStorage(path)
  const secret = keychainKey({ load: keyring, name, path: resolve(path), file })
  const keyForWrite = async (): Promise<Uint8Array | undefined> => {
    const key = await secret.create()
    if (!key && withoutKeychain === 'reject') throw keychainAway()
    return key
  }
  return {
    async getItem(key) {
      // At the first read, because a session is signed in without its record if only the write fails.
      await secret.checkInstalled()
      const text = await file.getItem(key)
      return text === null ? null : read(secret, key, text)
    },
    async setItem(key, value) {
      const secretKey = await keyForWrite()
      if (!secretKey && (await file.getItem(key))?.startsWith(encryptedMark)) throw keychainAway()
      await file.setItem(key, secretKey ? await encryptedText(secretKey, key, value) : value)
    },
    removeItem: (key) => file.removeItem(key),
    withLock: (name, task, options) => file.withLock(name, task, options),
    async ready() {
      await file.ready()
      await keyForWrite()
    },
    protection: async () => ((await keyForWrite()) ? 'keychain' : 'plain'),
  }
}

/** Precedes the text of an encrypted record. */
const encryptedMark = 'keychain:'

async function encryptedText(secretKey: Uint8Array, key: string, value: string): Promise<string> {
  const { encrypt } = await encryption()
  return encryptedMark + (await encrypt(keysOf(secretKey), key, value))
}

async function read(secret: KeychainKey, key: string, text: string): Promise<string> {
  const secretKey = await secret.find()
  if (!text.startsWith(encryptedMark)) {
    // Other text than this storage wrote, put there without the key.
    if (secretKey) throw notEncrypted()
    return text
  }
  if (!secretKey) throw keychainAway()
  const { decrypt } = await encryption()
  try {
    return await decrypt(keysOf(secretKey), key, text.slice(encryptedMark.length))
  } catch {
    throw new AgentAuthError(
      'storage_failed',
      'The key in the keychain does not decrypt a stored record. Sign in again. The record was not changed.',
    )
  }
}

/** Loads the module at its first use, because it brings most of `jose`. */
const encryption = (): Promise<typeof import('../storage/jwe.ts')> => import('../storage/jwe.ts')

function keysOf(secretKey: Uint8Array): ReadonlyMap<string, Uint8Array> {
  return new Map([['keychain', secretKey]])
}

function notEncrypted(): AgentAuthError {
  return new AgentAuthError(
    'storage_failed',
    'A stored record is not encrypted, although the keychain has a key for it. Sign in again. The record was not changed.',
  )
}

function keychainAway(): AgentAuthError {
  return new AgentAuthError(
    'storage_failed',
    'The keychain cannot be used, or has no key for the record. Unlock it and try again, or sign out and sign in again.',
    { retryable: true },
  )
}
