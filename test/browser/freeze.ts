import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/**
 * Stops all that runs in a page for the time of the task, as a freeze does. `Page.setWebLifecycleState` stops nothing, because
 * Playwright has every page stay visible, and a browser freezes hidden pages only. While it is stopped, the page answers no
 * `evaluate`. Resolves with the result of `first`, which runs in the page before everything that waits there.
 */
export async function whileFrozen<T>(
  page: Page,
  task: () => Promise<unknown>,
  first?: () => T | Promise<T>,
): Promise<T> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Debugger.enable')
  const stopped = new Promise<void>((resolve) => devtools.once('Debugger.paused', () => resolve()))
  const expression = `debugger; (${first ?? (() => {})})()`
  const ran = devtools.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })
  // A page that does not stop ends the wait too, and its timer fires.
  await Promise.race([stopped, ran])
  const hasFired = startTimer(page)
  try {
    await task()
    expect(hasFired()).toBe(false)
  } finally {
    await devtools.send('Debugger.resume')
  }
  const { result, exceptionDetails } = await ran
  expect(exceptionDetails).toBeUndefined()
  await devtools.detach()
  return result.value
}

/** Starts a timer in a page, and returns whether it has fired. In a frozen page none does. */
function startTimer(page: Page): () => boolean {
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

/** The first call of a page that the browser has frozen: `resume` reaches a page before all that it has missed. Runs in the page. */
export function callOnResume(): Promise<number | string> {
  document.dispatchEvent(new Event('resume'))
  return window.app.call()
}
