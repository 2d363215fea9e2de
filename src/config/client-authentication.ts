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
