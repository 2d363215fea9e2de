import type { Context } from 'hono'
import { keyedHash, randomSecret, sameText } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { credentialLimits } from '../limits.ts'
import { readCookie, writeCookie } from './cookies.ts'

/**
 * Returns the id of this browser if its device cookie proves that it signed in to this account before. The cookie has the
 * id, and for each account a keyed hash of both. It gives no access: attempts of a known browser only count by
 * themselves, so that other browsers cannot lock its user out (S-021).
 */
export function readDevice(c: Context<HttpEnvironment>, email: string): string | undefined {
  const [id = '', ...proofs] = partsOf(c)
  const expected = proofOf(c, id, email)
  return proofs.some((proof) => sameText(proof, expected)) ? id : undefined
}

/** Adds an account that this browser just signed in to (`deviceAccounts`, 5; the oldest leaves). */
export function rememberDevice(c: Context<HttpEnvironment>, email: string): void {
  const [id = randomSecret(), ...proofs] = partsOf(c)
  const proof = proofOf(c, id, email)
  const others = proofs.filter((other) => other !== proof).slice(0, credentialLimits.deviceAccounts - 1)
  writeCookie(c, 'device', [id, proof, ...others].join('.'))
}

function partsOf(c: Context<HttpEnvironment>): string[] {
  return readCookie(c, 'device')?.split('.') ?? []
}

function proofOf(c: Context<HttpEnvironment>, id: string, email: string): string {
  return keyedHash(c.get('service').keys.hashKey, `device ${id} ${email}`)
}
