import { AgentAuthError } from '../errors.ts'
import { attempt, checkNames, checkStorage, invalid } from '../internal/values.ts'
import type { EncryptionKeys } from './jwe.ts'
import type { TokenStorage } from './token-storage.ts'

/** The length of an encryption key in bytes, for AES-256. */
const encryptionKeyBytes = 32

/** The options of `encryptedStorage`. */
export interface EncryptedStorageOptions {
  /** The first key encrypts, all of them decrypt. */
  readonly keys: readonly EncryptionKey[]
}

/** A key of `encryptedStorage`. */
export interface EncryptionKey {
  /** Names the key in each record. Change it together with the key. */
  readonly id: string
  /** 32 bytes, or their base64url or base64 text. */
  readonly key: Uint8Array | string
}

/**
 * Returns a storage that encrypts the records of another one with AES-256-GCM (`encryptionKeyBytes`, 32) and a new random nonce at
 * each write, bound to the name of each record. To change the key, put a new one first and remove the old one when no record uses
 * it. Reading rejects with `storage_failed` if no key
 * decrypts a record, and the record stays. Throws `config_invalid`. RFC 7516.
 */
export function encryptedStorage(inner: TokenStorage, options: EncryptedStorageOptions): TokenStorage {
  checkStorage('storage', inner)
  const { keys } = checkNames('encryptedStorage', options, ['keys'])
  if (!Array.isArray(keys)) invalid('keys must be a list')
  const own = keys.map((each: EncryptionKey) => checkNames('each of keys', each, ['id', 'key']))
  if (own.some(({ id }) => typeof id !== 'string')) invalid('id must be a string in each of keys')
  const secrets = new Map(own.map(({ id, key }) => [id, keyBytes(key)]))
  if (!secrets.size || secrets.size !== keys.length) invalid('keys must hold at least one key, each with its own id')
  return {
    async getItem(key) {
      const encrypted = await inner.getItem(key)
      return encrypted == null ? null : read(secrets, key, encrypted)
    },
    async setItem(key, value) {
      const { encrypt } = await encryption()
      await inner.setItem(key, await encrypt(secrets, key, value))
    },
    removeItem: (key) => inner.removeItem(key),
    // A sign-out on a page depends on where its records are.
    ...('reach' in inner && { reach: inner.reach }),
    ...(inner.withLock && { withLock: inner.withLock.bind(inner) as NonNullable<TokenStorage['withLock']> }),
  }
}

/** Loads the module at its first use, because it brings most of `jose` and many apps encrypt nothing. */
const encryption = (): Promise<typeof import('./jwe.ts')> => import('./jwe.ts')

async function read(secrets: EncryptionKeys, key: string, encrypted: string): Promise<string> {
  const { decrypt } = await encryption()
  try {
    return await decrypt(secrets, key, encrypted)
  } catch {
    // One message for all reasons, because the reason would help an attacker who changed the record.
    throw new AgentAuthError(
      'storage_failed',
      'No key decrypts a stored record, or it is not encrypted. Check the option keys. The record was not changed.',
    )
  }
}

function keyBytes(key: Uint8Array | string): Uint8Array {
  const bytes = typeof key === 'string' ? decode(key) : Uint8Array.from(key ?? [])
  if (bytes?.length === encryptionKeyBytes) return bytes
  invalid(
    `an encryption key must be ${encryptionKeyBytes} bytes, or their base64 text, such as openssl rand -base64 ${encryptionKeyBytes} prints`,
  )
}

function decode(text: string): Uint8Array | undefined {
  return attempt(() =>
    Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0)),
  )
}
