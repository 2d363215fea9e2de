// @module-tag chromium

import { expect, it } from 'vitest'
import { launchChromium } from '../support/chromium.ts'
import { browserRig, call, signIn, untilStatus, untilTrue } from './rig.ts'

/** The back/forward cache is on, as in every browser people use. */
const rig = browserRig({}, () =>
  launchChromium({ build: 'whole', ignoreDefaultArgs: ['--disable-back-forward-cache'] }),
)

it.each(['indexed', 'memory'] as const)(
  '%s: after a sign-out elsewhere, Back shows a signed-out page whose first call carries no token',
  async (kind) => {
    const context = await rig.context()
    await context.addInitScript(() => {
      addEventListener('pageshow', ({ persisted }) => {
        if (persisted) void window.app.call().then((result) => Object.assign(window, { firstCall: String(result) }))
      })
    })
    const page = await rig.signedIn(context, kind)
    const other = await rig.open(context, `/${kind}/home`)
    if (kind === 'memory') await signIn(other)
    expect(await call(page)).toBe(200)
    await page.goto(`${rig.service.baseUrl}/openapi.json`)
    await other.evaluate(() => window.app.auth.signOut())
    const before = rig.service.dev.journal().length
    const back = page.waitForEvent('framenavigated')
    await page.evaluate(() => history.back())
    await back
    await untilTrue(page, () => 'firstCall' in window)
    expect(await page.evaluate(() => (window as unknown as { firstCall: string }).firstCall)).toBe('login_required')
    await untilStatus(page, 'signed-out')
    const calls = rig.service.dev.journal().slice(before)
    expect(calls.filter((entry) => entry.kind === 'request' && entry.authorization === 'bearer')).toEqual([])
  },
)

it('a page that comes back hears the other tabs again', async () => {
  const context = await rig.context()
  const page = await rig.signedIn(context, 'indexed')
  const other = await rig.open(context, '/indexed/home')
  await page.goto(`${rig.service.baseUrl}/openapi.json`)
  const back = page.waitForEvent('framenavigated')
  await page.evaluate(() => history.back())
  await back
  expect(await call(page)).toBe(200)
  await other.evaluate(() => window.app.auth.signOut())
  await untilStatus(page, 'signed-out')
})
