// @module-tag chromium

import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { launchChromium } from '../support/chromium.ts'
import { browserRig, untilTrue } from './rig.ts'

/** Popups are blocked, as in every browser people use. */
const rig = browserRig({}, () => launchChromium({ build: 'whole', ignoreDefaultArgs: ['--disable-popup-blocking'] }))

/** As a script of the page does it: what Playwright evaluates counts as a click. */
async function evaluateUnclicked(page: Page, expression: string): Promise<unknown> {
  const devtools = await page.context().newCDPSession(page)
  const { result } = await devtools.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })
  return result.value
}

it('a window that Chromium blocks for want of a click ends in popup_blocked, and the next click opens one', async () => {
  const context = await rig.context()
  const page = await context.newPage()
  await page.goto(`${rig.origin}/memory/home`)
  const blocked = await evaluateUnclicked(
    page,
    `(async () => {
      while (!window.app?.started) await new Promise((tick) => setTimeout(tick, 10))
      return window.app.codeOf(window.app.auth.signIn({ mode: 'popup' }))
    })()`,
  )
  expect(blocked).toBe('popup_blocked')
  expect(context.pages()).toEqual([page])
  expect(await evaluateUnclicked(page, 'JSON.stringify({ ...sessionStorage, ...localStorage })')).toBe('{}')
  expect(await evaluateUnclicked(page, 'window.app.auth.session.state.status')).toBe('signed-out')
  await page.click('#popup')
  await untilTrue(page, () => window.app.auth.session.state.status === 'signed-in')
})
