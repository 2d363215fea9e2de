/**
 * Resolves when the browser shows this page; returns undefined if it is shown already. While a page is prerendered, Web Locks
 * wait, its sessionStorage is a copy that the browser discards, and messages of other tabs do not arrive.
 */
export function untilShown(): Promise<void> | undefined {
  const { document } = globalThis as { document?: Document & { prerendering?: boolean } }
  if (!document?.prerendering) return undefined
  return new Promise((resolve) => document.addEventListener('prerenderingchange', () => resolve(), { once: true }))
}
