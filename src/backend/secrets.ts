import { AgentAuthError } from '../errors.ts'
import { base64url } from '../internal/base64url.ts'
import type { SealKeys } from '../storage/encrypt.ts'

const minLength = 32

/** Checks the list and returns how to get the keys derived from it, which happens once. Throws `config_invalid`. */
export function sealKeys(secrets: readonly string[]): () => Promise<SealKeys> {
  const fit = secrets?.length > 0 && new Set(secrets).size === secrets.length
  if (!fit || !secrets.every((secret) => typeof secret === 'string' && secret.length >= minLength))
    throw new AgentAuthError(
      'config_invalid',
      'secrets must be different strings of at least 32 characters each, such as openssl rand -base64 32 prints.',
    )
  const kept = [...secrets]
  let keys: Promise<SealKeys> | undefined
  return () => {
    keys ??= Promise.all(kept.map(derive)).then((pairs) => new Map(pairs))
    return keys
  }
}

/** The key id is derived too, so that it says nothing about the secret. RFC 5869. */
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
