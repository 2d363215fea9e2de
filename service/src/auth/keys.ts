import type { CryptoKey } from 'jose'
import { exportJWK, generateKeyPair, importJWK } from 'jose'
import type { Db } from '../store/store.ts'
import { hashToken, randomSecret } from './secrets.ts'

export interface ServiceKeys {
  /** Keys the stored hashes of client secrets and generated passwords. */
  readonly hashKey: Uint8Array
  readonly signingKey: CryptoKey
  readonly verifyKey: CryptoKey
  readonly keyId: string
}

/** Reads the keys of this database, making them at its first start. */
export async function loadKeys(db: Db): Promise<ServiceKeys> {
  const hashKey = await keyNamed(db, 'hash', async () => randomSecret())
  const text = await keyNamed(db, 'signing', async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    return JSON.stringify(await exportJWK(privateKey))
  })
  const { d, ...publicJwk } = JSON.parse(text)
  return {
    hashKey: Buffer.from(hashKey, 'base64url'),
    signingKey: (await importJWK({ ...publicJwk, d }, 'ES256')) as CryptoKey,
    verifyKey: (await importJWK(publicJwk, 'ES256')) as CryptoKey,
    keyId: hashToken(`${publicJwk.x}.${publicJwk.y}`).slice(0, 16),
  }
}

async function keyNamed(db: Db, name: string, make: () => Promise<string>): Promise<string> {
  const find = () => db.selectFrom('service_keys').select('value').where('name', '=', name).executeTakeFirst()
  const found = await find()
  if (found !== undefined) return found.value
  // Two processes may start at once: the first one's key stands.
  await db
    .insertInto('service_keys')
    .values({ name, value: await make() })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  return (await find())?.value ?? keyNamed(db, name, make)
}
