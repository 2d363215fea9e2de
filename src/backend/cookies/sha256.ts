import { base64url } from '../../internal/base64url.ts'

/** The hash function of Node 20.12, which has no part in the types of other platforms. */
interface NodeCrypto {
  hash?(algorithm: 'sha256', text: string, encoding: 'base64url'): string
}

/**
 * Returns the SHA-256 of a text in base64url. Node has a function for it that runs on this thread. Web Crypto, which other
 * platforms have, waits for another thread.
 */
export async function sha256(text: string): Promise<string> {
  const { hash }: NodeCrypto = globalThis.process?.getBuiltinModule?.('node:crypto') ?? {}
  if (hash) return hash('sha256', text, 'base64url')
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
}
