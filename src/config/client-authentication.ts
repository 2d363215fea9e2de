import { invalid } from './invalid.ts'
import { isBrowser } from './service-url.ts'

interface ClientOptions {
  readonly clientId: string
  readonly clientSecret?: string | undefined
  readonly basicEncoding?: 'form' | 'raw' | undefined
}

/** Returns the function that makes the `Authorization` header, or undefined for a public client. Throws `config_invalid`. */
export function clientCredentials({
  clientId,
  clientSecret,
  basicEncoding = 'form',
}: ClientOptions): (() => string) | undefined {
  if (clientSecret === undefined) return undefined
  if (!clientSecret) invalid('clientSecret is empty. Set it or remove it')
  if (isBrowser()) invalid('a browser cannot keep a clientSecret. Use a public client or a backend')
  return () => basicCredentials(clientId, clientSecret, basicEncoding)
}

/** Returns the other `basicEncoding`, if the `Authorization` header of this client differs with it. */
export function otherBasicEncoding({
  clientId,
  clientSecret = '',
  basicEncoding = 'form',
}: ClientOptions): 'form' | 'raw' | undefined {
  const other = basicEncoding === 'form' ? 'raw' : 'form'
  return escapeReserved(clientId + clientSecret) === clientId + clientSecret ? undefined : other
}

/**
 * Returns the `Authorization` header of HTTP Basic, RFC 6749 section 2.3.1. `form` escapes only what is outside of the unreserved
 * characters, so that an ordinary id and secret are the same for servers that decode and for those that do not.
 */
export function basicCredentials(clientId: string, clientSecret: string, encoding: 'form' | 'raw'): string {
  const [id, secret] = [clientId, clientSecret].map((text) => (encoding === 'raw' ? text : escapeReserved(text)))
  return `Basic ${btoa(String.fromCharCode(...new TextEncoder().encode(`${id}:${secret}`)))}`
}

function escapeReserved(text: string): string {
  return encodeURIComponent(text).replace(/[!*'()]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
