import { attempt } from '../internal/values.ts'
import type { HeaderReader } from './cookies.ts'
import type { ErrorBody } from './responses.ts'

/** The header that another site can send only after a CORS preflight, which the backend never allows. */
export const csrfHeader = 'x-agent-auth'

/** The response to a request that does not pass the CSRF checks. */
export const crossSite: ErrorBody = {
  code: 'origin_forbidden',
  message: "Cross-site request rejected. Send the header x-agent-auth: 1 from a page of this app's origin.",
}

/** CSRF protection: returns whether a request has the fixed header and comes from a page of this origin. */
export function passesCsrfChecks(request: Request, origin: string): boolean {
  return request.headers.get(csrfHeader) === '1' && isSameOrigin(request, origin)
}

/** Returns whether Fetch Metadata or `Origin` shows a page of this origin, and neither of them another one. */
export function isSameOrigin({ headers }: { readonly headers: HeaderReader }, origin: string): boolean {
  const site = headers.get('sec-fetch-site')
  const from = headers.get('origin')
  if (site === null && from === null) return false
  return (site === null || site === 'same-origin') && (from === null || from === origin)
}

/** Returns whether a browser loads the page in advance, which must start or finish no login. */
export function isPrefetch({ headers }: Request): boolean {
  const purposes = ['sec-purpose', 'purpose', 'x-moz', 'x-purpose'].map((name) => headers.get(name) ?? '')
  return headers.has('next-router-prefetch') || /prefetch|prerender|preview/i.test(purposes.join(' '))
}

/** Returns whether a request loads a page in a window. Browsers that send no Fetch Metadata pass. */
export function isNavigation({ headers }: Request): boolean {
  const [mode, dest] = [headers.get('sec-fetch-mode'), headers.get('sec-fetch-dest')]
  return (mode === null || mode === 'navigate') && (dest === null || dest === 'document')
}

/** Returns whether the user or a page of this origin started a navigation. Older browsers show that by the referrer only. */
export function isOwnNavigation({ headers }: Request, origin: string): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin' || site === 'none'
  return attempt(() => new URL(headers.get('referer') ?? ''))?.origin === origin
}
