import type { Context } from 'hono'
import { keyedHash, randomSecret, sameText } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { readCookie, writeCookie } from './cookies.ts'

/** Accounts that one browser is known for; the least recent makes room. */
export const mostDeviceAccounts = 5

/**
 * Returns the id of this browser if it signed in to this account before, as its device cookie proves: the id, and for each
 * account a keyed hash of both. The cookie opens nothing. Its attempts are counted apart from those of strangers, who
 * cannot keep its owner out (S-021).
 */
export function readDevice(c: Context<HttpEnvironment>, email: string): string | undefined {
  const [id = '', ...proofs] = partsOf(c)
  const expected = proofOf(c, id, email)
  return proofs.some((proof) => sameText(proof, expected)) ? id : undefined
}

/** Makes this browser known for an account that it just signed in to. */
export function rememberDevice(c: Context<HttpEnvironment>, email: string): void {
  const [id = randomSecret(), ...proofs] = partsOf(c)
  const proof = proofOf(c, id, email)
  const others = proofs.filter((other) => other !== proof).slice(0, mostDeviceAccounts - 1)
  writeCookie(c, 'device', [id, proof, ...others].join('.'))
}

function partsOf(c: Context<HttpEnvironment>): string[] {
  return readCookie(c, 'device')?.split('.') ?? []
}

function proofOf(c: Context<HttpEnvironment>, id: string, email: string): string {
  return keyedHash(c.get('service').keys.hashKey, `device ${id} ${email}`)
}
