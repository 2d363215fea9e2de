import { AgentAuthError } from '../errors.ts'

const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Returns the URL text unchanged when it is https, or http on loopback, without fragment, user info or (except for a
 * redirect URI) query; throws `config_invalid`, which does not quote the value.
 */
export function checkServiceUrl(name: string, value: unknown): string {
  const text = typeof value === 'string' ? value : ''
  // Looked for in the text: the parser drops an empty query, fragment or user info, and white space.
  const forbidden = name === 'redirectUri' ? /[\s\p{Cc}#\\]|^[^?]*\/\/[^/?]*@/u : /[\s\p{Cc}?#\\]|\/\/[^/]*@/u
  if (/^https?:\/\/[^/]/i.test(text) && !forbidden.test(text) && isSecure(text)) return text
  throw new AgentAuthError(
    'config_invalid',
    text
      ? `Configuration: ${name} must be an https URL, or http on localhost, 127.0.0.1 or [::1], without user info, query or fragment.`
      : `Configuration: ${name} is missing.`,
  )
}

function isSecure(text: string): boolean {
  try {
    const url = new URL(text)
    return url.protocol === 'https:' || loopback.has(url.hostname)
  } catch {
    return false
  }
}
