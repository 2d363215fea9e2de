import type { ErrorBody } from './responses.ts'

/** The header that another site can send only after a CORS preflight, which the backend never allows. */
export const csrfHeader = 'x-agent-auth'

/** The response to a request that does not pass the CSRF checks. */
export const crossSite: ErrorBody = {
  code: 'origin_forbidden',
  message: "Cross-site request rejected. Send the header x-agent-auth: 1 from a page of this app's origin.",
}

/**
 * CSRF protection: returns whether a request has the fixed header and comes from a page of this origin. If not, logout
 * (routes/logout.ts) and the proxy (routes/proxy.ts) respond with 403. `GET /session` neither refreshes nor signs in, so it checks only
 * `Sec-Fetch-Site` (routes/session.ts). Login and callback are page loads. routes/login.ts refuses a request that is no page
 * load, and takes the return URL only from the user or from a page of this origin, with `sameSite: 'lax'` from any site (`returnUrl`
 * there). A callback needs the cookie of its login (routes/callback.ts).
 */
export function passesCsrfChecks(request: Request, origin: string): boolean {
  return request.headers.get(csrfHeader) === '1' && isSameOrigin(request, origin)
}

/** Returns whether Fetch Metadata or `Origin` shows a page of this origin, and neither of them another one. */
function isSameOrigin({ headers }: Request, origin: string): boolean {
  const site = headers.get('sec-fetch-site')
  const from = headers.get('origin')
  if (site === null && from === null) return false
  return (site === null || site === 'same-origin') && (from === null || from === origin)
}
