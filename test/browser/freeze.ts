import type { Page } from 'playwright-core'

/**
 * Stops all that runs in a page, as a freeze does, and resolves with how it goes on. `Page.setWebLifecycleState` stops nothing,
 * because Playwright has every page stay visible, and a browser freezes hidden pages only.
 */
export async function freeze(page: Page): Promise<() => Promise<void>> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Debugger.enable')
  const stopped = new Promise<void>((resolve) => devtools.once('Debugger.paused', () => resolve()))
  const stop = devtools.send('Runtime.evaluate', { expression: 'debugger' })
  await stopped
  return async () => {
    await devtools.send('Debugger.resume')
    await stop
    await devtools.detach()
  }
}

/** Starts a timer in a page, and returns whether it has fired. In a frozen page none does. */
export function startTimer(page: Page): () => boolean {
  let hasFired = false
  const fired = page.evaluate(() => new Promise<void>((resolve) => setTimeout(resolve)))
  fired.then(
    () => {
      hasFired = true
    },
    () => {},
  )
  return () => hasFired
}
