import { attempt } from '../internal/attempt.ts'

/** Returns whether a browser loads the page in advance, which must start or finish no login. */
export function isPrefetch({ headers }: Request): boolean {
  const purposes = [headers.get('sec-purpose'), headers.get('purpose'), headers.get('x-moz'), headers.get('x-purpose')]
  return (
    headers.has('next-router-prefetch') || purposes.some((purpose) => /prefetch|prerender|preview/i.test(purpose ?? ''))
  )
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
