import { base64url } from '../../internal/base64url.ts'

/** `crypto.hash` of Node 20.12 and later. It is declared here, because the types of other platforms do not have it. */
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
