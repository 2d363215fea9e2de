import type { CryptoKey, JWK } from 'jose'
import { importJWK } from 'jose'
import type { Db } from '../store/store.ts'
import type { ServiceKeyName } from '../store/tables/service-keys.ts'
import { addServiceKey, findServiceKey } from '../store/tables/service-keys.ts'
import { hashToken, randomSecret } from './secrets.ts'
import { newSigningKey } from './signing-key.ts'

export interface ServiceKeys {
  /** Keys the stored hashes of client secrets and generated passwords. */
  readonly hashKey: Uint8Array
  readonly signingKey: CryptoKey
  readonly verifyKey: CryptoKey
  readonly keyId: string
}

/**
 * Reads the keys of this database. The first start makes them, and they stay as long as the data: there is no rotation. Tokens are
 * signed with ES256.
 */
export async function loadKeys(db: Db): Promise<ServiceKeys> {
  const hashKey = await keyNamed(db, 'hash', async () => randomSecret())
  const text = await keyNamed(db, 'signing', async () => JSON.stringify(newSigningKey()))
  const jwk: JWK = JSON.parse(text)
  const { d: _d, ...publicJwk } = jwk
  return {
    hashKey: Buffer.from(hashKey, 'base64url'),
    signingKey: await cryptoKey(jwk),
    verifyKey: await cryptoKey(publicJwk),
    keyId: hashToken(`${publicJwk.x}.${publicJwk.y}`).slice(0, 16),
  }
}

async function cryptoKey(jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, 'ES256')
  if (key instanceof Uint8Array) throw new TypeError('the signing key of this data is no key pair')
  return key
}

async function keyNamed(db: Db, name: ServiceKeyName, make: () => Promise<string>): Promise<string> {
  const found = await findServiceKey(db, name)
  if (found !== undefined) return found
  await addServiceKey(db, name, await make())
  return keyNamed(db, name, make)
}
