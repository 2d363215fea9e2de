import { attempt } from '../internal/attempt.ts'

/** The header no other site can send without asking first. */
export const guardHeader = 'x-agent-auth'

/** Whether the browser says that a page of this origin asks: by fetch metadata or `Origin`, and by nothing to the contrary. */
export function isSameOrigin({ headers }: Request, origin: string): boolean {
  const site = headers.get('sec-fetch-site')
  const from = headers.get('origin')
  if (site === null && from === null) return false
  return (site === null || site === 'same-origin') && (from === null || from === origin)
}

/** Whether a request may change something or use the API: the fixed header, from this origin. */
export function isGuarded(request: Request, origin: string): boolean {
  return request.headers.get(guardHeader) === '1' && isSameOrigin(request, origin)
}

/** A browser that only looks ahead must not start or finish anything. */
export function isPrefetch({ headers }: Request): boolean {
  const purposes = [headers.get('sec-purpose'), headers.get('purpose'), headers.get('x-moz'), headers.get('x-purpose')]
  return (
    headers.has('next-router-prefetch') || purposes.some((purpose) => /prefetch|prerender|preview/i.test(purpose ?? ''))
  )
}

/** Whether this is a page load in a window of its own, as far as the browser says. */
export function isNavigation({ headers }: Request): boolean {
  const [mode, dest] = [headers.get('sec-fetch-mode'), headers.get('sec-fetch-dest')]
  return (mode === null || mode === 'navigate') && (dest === null || dest === 'document')
}

/** Whether the user or a page of this origin asked for a page, by fetch metadata, or by the referrer in older browsers. */
export function isOwnNavigation({ headers }: Request, origin: string): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin' || site === 'none'
  return attempt(() => new URL(headers.get('referer') ?? ''))?.origin === origin
}
