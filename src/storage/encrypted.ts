import { checkArgument, checkedElsewhere, checkOptions, type OptionKinds, storageKind } from '../config/options.ts'
import { AgentAuthError } from '../errors.ts'
import { attempt } from '../internal/attempt.ts'
import type { SealKeys } from './encrypt.ts'
import type { TokenStorage } from './token-storage.ts'

/** The options of `encryptedStorage`. */
export interface EncryptedStorageOptions {
  /** The first key seals, all of them open. */
  readonly keys: readonly EncryptionKey[]
}

/** A key of `encryptedStorage`. */
export interface EncryptionKey {
  /** Travels with each record; change it together with the key. */
  readonly id: string
  /** 32 bytes, or their base64url or base64 text. */
  readonly key: Uint8Array | string
}

const keyKinds: OptionKinds<EncryptionKey> = { id: 'string', key: checkedElsewhere }
const optionKinds: OptionKinds<EncryptedStorageOptions> = { keys: 'list' }

/**
 * Seals the records of any storage with AES-256-GCM, bound to the key they are stored under. The first key seals, all of
 * them open, so a new key goes to the front and an old one may go when its records are gone. Reading rejects with
 * `storage_failed`, and leaves the record alone, when no key opens it; throws `config_invalid` for unfit keys. RFC 7516.
 */
export function encryptedStorage(inner: TokenStorage, options: EncryptedStorageOptions): TokenStorage {
  checkArgument('storage', inner, storageKind)
  checkOptions('encryptedStorage', options, optionKinds)
  const { keys } = options
  checkArgument('keys', keys, 'list')
  for (const each of keys) checkOptions('each of keys', each, keyKinds)
  const secrets = new Map(keys.map(({ id, key }) => [id, keyBytes(key)]))
  if (!secrets.size || secrets.size !== keys.length)
    throw new AgentAuthError('config_invalid', 'keys must hold at least one key, each with an id of its own.')
  return {
    async getItem(key) {
      const sealed = await inner.getItem(key)
      return sealed == null ? sealed : open(secrets, key, sealed)
    },
    async setItem(key, value) {
      const { seal } = await sealing()
      await inner.setItem(key, await seal(secrets, key, value))
    },
    removeItem: (key) => inner.removeItem(key),
    ...(inner.withLock && { withLock: inner.withLock.bind(inner) as NonNullable<TokenStorage['withLock']> }),
  }
}

/** Loaded at its first use, because it brings most of `jose` and apps that seal nothing need not wait for it. */
const sealing = (): Promise<typeof import('./encrypt.ts')> => import('./encrypt.ts')

async function open(secrets: SealKeys, key: string, sealed: string): Promise<string> {
  const { unseal } = await sealing()
  try {
    return await unseal(secrets, key, sealed)
  } catch {
    // One answer for every reason: which check failed helps only who tampers.
    throw new AgentAuthError(
      'storage_failed',
      'A stored record was not sealed here with any of the keys. It was left alone.',
    )
  }
}

function keyBytes(key: Uint8Array | string): Uint8Array {
  const bytes = typeof key === 'string' ? decode(key) : Uint8Array.from(key)
  if (bytes?.length !== 32)
    throw new AgentAuthError(
      'config_invalid',
      'An encryption key must be 32 bytes, or their base64 text, such as openssl rand -base64 32 prints.',
    )
  return bytes
}

function decode(text: string): Uint8Array | undefined {
  return attempt(() =>
    Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (character) => character.charCodeAt(0)),
  )
}
