import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** Fixed prefixes, so that a scanner recognises a leaked value (S-046). */
export type TokenPrefix = 'aac_' | 'art_' | 'ast_'

/** 256 random bits, base64url. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}

export function randomToken(prefix: TokenPrefix): string {
  return prefix + randomSecret()
}

/** 128 random bits behind a word, so that ids of different kinds never collide (S-059). */
export function randomId(kind: 'app' | 'person' | 'grant' | 'secret'): string {
  return `${kind}_${randomBytes(16).toString('hex')}`
}

/** For values with 256 random bits: a plain hash is enough, nobody can guess the input. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

export function keyedHash(key: Uint8Array, value: string): string {
  return createHmac('sha256', key).update(value).digest('base64url')
}

/** Compares digests, so lengths are equal and time says nothing about a match (S-042). */
export function sameText(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(left), digest(right))
}

/** Seals text so that only a holder of `secret` can read it again (S-049). */
export function seal(secret: string, text: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', sealingKey(secret), nonce)
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

export function unseal(secret: string, sealed: string): string {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', sealingKey(secret), bytes.subarray(0, 12))
  decipher.setAuthTag(bytes.subarray(12, 28))
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
}

/** One HMAC derives a key from a secret that is 256 random bits already; HKDF would stretch it first, at four times the cost. */
function sealingKey(secret: string): Uint8Array {
  return createHmac('sha256', secret).update('agent-service successor pair').digest()
}
