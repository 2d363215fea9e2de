import { invalid } from '../../config/invalid.ts'
import { base64url } from '../../internal/base64url.ts'
import { minCookieSecretLength } from '../../internal/limits.ts'
import type { EncryptionKeys } from '../../storage/jwe.ts'

/**
 * Checks the option `secrets`, and returns a function that derives their keys once, at its first call. They encrypt the cookies of
 * pending logins only. The first encrypts and all decrypt. Nothing is encrypted again, because a login lives ten minutes. The
 * session cookie is a random id (session-cookie.ts), so a changed secret signs no user out. The callback of a login whose secret
 * was removed is `flow_not_found` unless a user is signed in (`withoutPendingLogin` in routes/callback.ts). To change a secret, put
 * the new one first, and remove the old one after ten minutes. A secret has a least length (`minCookieSecretLength`, 32
 * characters), and there are one or more of them. Throws `config_invalid`.
 */
export function pendingLoginKeys(secrets: readonly string[]): () => Promise<EncryptionKeys> {
  const areDifferent = secrets?.length > 0 && new Set(secrets).size === secrets.length
  const areValid =
    areDifferent && secrets.every((text) => typeof text === 'string' && text.length >= minCookieSecretLength)
  if (!areValid)
    invalid(
      `secrets must be different strings of at least ${minCookieSecretLength} characters. Create each with openssl rand -base64 32`,
    )
  const copy = [...secrets]
  let keys: Promise<EncryptionKeys> | undefined
  return () => {
    keys ??= Promise.all(copy.map(derive)).then((pairs) => new Map(pairs))
    return keys
  }
}

/** Derives the key id as well, so that it reveals nothing about the secret. RFC 5869. */
async function derive(secret: string): Promise<[kid: string, key: CryptoKey]> {
  const encoder = new TextEncoder()
  const from = (info: string): HkdfParams => {
    return { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: encoder.encode(`agent-auth ${info}`) }
  }
  const { subtle } = crypto
  const base = await subtle.importKey('raw', encoder.encode(secret), 'HKDF', false, ['deriveKey', 'deriveBits'])
  const kid = new Uint8Array(await subtle.deriveBits(from('key id'), base, 48))
  const aes = { name: 'AES-GCM', length: 256 }
  return [base64url(kid), await subtle.deriveKey(from('cookie'), base, aes, false, ['encrypt', 'decrypt'])]
}
