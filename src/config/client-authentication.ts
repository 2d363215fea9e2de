import { type ClientAuth, None } from 'oauth4webapi'

/** A public client names itself in the body and sends no credentials. Specification section 5.2. */
export const publicClient: ClientAuth = None()

/**
 * HTTP Basic of RFC 6749 section 2.3.1 that escapes only what lies outside the unreserved characters, so that an ordinary
 * id and secret read the same to servers that decode and to those that don't.
 */
export function clientSecretBasic(clientSecret: string, encoding: 'form' | 'raw'): ClientAuth {
  const encode = encoding === 'raw' ? (text: string) => text : escapeReserved
  return (_server, client, _body, headers) => {
    const pair = new TextEncoder().encode(`${encode(client.client_id)}:${encode(clientSecret)}`)
    headers.set('authorization', `Basic ${btoa(String.fromCharCode(...pair))}`)
  }
}

function escapeReserved(text: string): string {
  return encodeURIComponent(text).replace(/[!*'()]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
