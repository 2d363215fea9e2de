/**
 * Resolves when the browser shows this page; returns undefined if it is shown already. While a page is prerendered, Web Locks
 * wait, its sessionStorage is a copy that the browser discards, and messages of other tabs do not arrive.
 */
export function untilShown(): Promise<void> | undefined {
  const { document } = globalThis as { document?: Document & { prerendering?: unknown } }
  // An `<img name="prerendering">` of the page would be the value of this member.
  if (document?.prerendering !== true) return undefined
  return new Promise((resolve) => document.addEventListener('prerenderingchange', () => resolve(), { once: true }))
}
