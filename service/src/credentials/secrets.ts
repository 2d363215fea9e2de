import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

/** Fixed prefixes, by which a secret scanner recognizes a leaked value (S-046). */
export type TokenPrefix = 'aac_' | 'art_' | 'ast_'

/** Returns 256 random bits in base64url. */
export function randomSecret(): string {
  return randomBytes(32).toString('base64url')
}

export function randomToken(prefix: TokenPrefix): string {
  return prefix + randomSecret()
}

/** Returns 128 random bits behind the kind, so that ids of two kinds never collide (S-059). */
export function randomId(kind: 'app' | 'person' | 'grant' | 'secret'): string {
  return `${kind}_${randomBytes(16).toString('hex')}`
}

/** Returns a plain hash. It is enough for a value of 256 random bits, which cannot be guessed. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

/** Returns the HMAC by which a client secret is stored and compared (`compareSecret` in token/client-authentication.ts). */
export function keyedHash(key: Uint8Array, value: string): string {
  return createHmac('sha256', key).update(value).digest('base64url')
}

/** Compares two texts by their digests, so that the time reveals nothing about a match (S-042). */
export function sameText(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(left), digest(right))
}

/** Encrypts text with AES-256-GCM under a key that is derived from `secret` (S-049). */
export function encrypt(secret: string, text: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', encryptionKey(secret), nonce)
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), encrypted]).toString('base64url')
}

/** Decrypts what `encrypt` returned for the same secret. Throws for any other text. */
export function decrypt(secret: string, encrypted: string): string {
  const bytes = Buffer.from(encrypted, 'base64url')
  // Without the length, Node accepts a tag of four bytes, which is guessed in 2^32 tries.
  const options = { authTagLength: 16 }
  const decipher = createDecipheriv('aes-256-gcm', encryptionKey(secret), bytes.subarray(0, 12), options)
  decipher.setAuthTag(bytes.subarray(12, 28))
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
}

/** Derives the key by one HMAC, which is enough for a secret of 256 random bits. HKDF would cost four times as much. */
function encryptionKey(secret: string): Uint8Array {
  return createHmac('sha256', secret).update('agent-service successor pair').digest()
}
