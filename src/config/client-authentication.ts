import { type ClientAuth, None } from 'oauth4webapi'
import { attempt } from '../internal/plain-object.ts'
import { invalid } from './invalid.ts'
import { isBrowser } from './service-url.ts'

interface ClientOptions {
  readonly clientId: string
  readonly clientSecret?: string | undefined
  readonly basicEncoding?: 'form' | 'raw' | undefined
}

/** The authentication of a public client: its id in the body. */
export const publicClient: ClientAuth = None()

/**
 * Returns the authentication of a confidential client, HTTP Basic of RFC 6749 section 2.3.1, and undefined for a public one. `form` escapes
 * only what is outside of the unreserved characters, so that an ordinary id and secret are the same for servers that decode and for those
 * that do not. `ClientSecretBasic` of oauth4webapi escapes more. Throws `config_invalid`.
 */
export function clientCredentials({
  clientSecret,
  basicEncoding = 'form',
}: Omit<ClientOptions, 'clientId'>): ClientAuth | undefined {
  if (clientSecret === undefined) return undefined
  if (typeof clientSecret !== 'string' || !clientSecret)
    invalid('clientSecret is empty or no text. Set it or remove it')
  if (attempt(() => escapeReserved(clientSecret)) === undefined) invalid('clientSecret has half a character')
  if (basicEncoding !== 'form' && basicEncoding !== 'raw') invalid('basicEncoding must be form or raw')
  if (isBrowser() && /jsdom|HappyDOM/i.test(globalThis.navigator?.userAgent))
    invalid('this test runs in jsdom or happy-dom, a browser without a secret. Add // @vitest-environment node to it')
  if (isBrowser()) invalid('a browser cannot keep a clientSecret. Use a public client or a backend')
  const encode = basicEncoding === 'raw' ? String : escapeReserved
  return (_server, { client_id: clientId }, _body, headers) => {
    const bytes = new TextEncoder().encode(`${encode(clientId)}:${encode(clientSecret)}`)
    headers.set('authorization', `Basic ${btoa(String.fromCharCode(...bytes))}`)
  }
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

function escapeReserved(text: string): string {
  return encodeURIComponent(text).replace(/[!*'()]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
