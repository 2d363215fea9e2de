/**
 * Resolves when the browser shows this page; returns nothing if it is shown already. While a page is only prerendered, Web Locks
 * wait, sessionStorage is a copy that the browser throws away, and other tabs are not heard.
 */
export function untilShown(): Promise<void> | undefined {
  const { document } = globalThis
  if (!document || !('prerendering' in document && document.prerendering)) return undefined
  return new Promise((resolve) => document.addEventListener('prerenderingchange', () => resolve(), { once: true }))
}
