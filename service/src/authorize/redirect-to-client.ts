import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'

/**
 * Redirects to the application with a code or an error: 302 from a page load, 303 from a form (S-010). authorize.ts decides which errors
 * go there, and which get a page. The URL may have a code, so no cache may store it and no referrer is sent.
 */
export function sendBack(c: Context<HttpEnvironment>, url: string): Response {
  c.header('Cache-Control', 'no-store')
  c.header('Referrer-Policy', 'no-referrer')
  return c.redirect(url, c.req.raw.method === 'POST' ? 303 : 302)
}

/** Adds parameters without changing a byte of the registered text. `state` is percent-encoded already. */
export function callbackUrl(redirectUri: string, parameters: Record<string, string>, state: string | null): string {
  const query = new URLSearchParams(parameters).toString() + (state === null ? '' : `&state=${state}`)
  if (!redirectUri.includes('?')) return `${redirectUri}?${query}`
  // A later `?` is part of a value.
  return /^[^?]*\?(.*&)?$/.test(redirectUri) ? redirectUri + query : `${redirectUri}&${query}`
}
