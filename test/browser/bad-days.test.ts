// @module-tag chromium

import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { browserRig, call, statusOf } from './rig.ts'

const rig = browserRig()

const ahead = (page: Page, by: { wallMs?: number; monotonicMs?: number }): Promise<void> =>
  page.evaluate(({ wallMs = 0, monotonicMs = 0 }) => {
    window.app.ahead.wallMs += wallMs
    window.app.ahead.monotonicMs += monotonicMs
  }, by)

it('offline when the token ends: calls fail at once, and soon after coming online they succeed again', async () => {
  const context = await rig.context()
  const page = await rig.signedIn(context, 'indexed')
  await context.setOffline(true)
  await ahead(page, { monotonicMs: 3_600_000 })
  // Five failures put the next try of the schedule many seconds away.
  for (let failures = 0; failures < 5; failures++) {
    expect(await call(page)).toBe('temporarily_unavailable')
    await ahead(page, { monotonicMs: 60_000 })
  }
  expect(await call(page)).toBe('temporarily_unavailable')
  expect(await statusOf(page)).toBe('signed-in')
  const online = page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        addEventListener('online', async () => {
          const beganMs = performance.now()
          while ((await window.app.call()) !== 200) await new Promise((tick) => setTimeout(tick, 50))
          resolve(performance.now() - beganMs)
        })
      }),
  )
  await context.setOffline(false)
  // The schedule alone would wait 8 s at least.
  expect(await online).toBeLessThan(7_000)
})

it('a session that the service ended is reported once in each tab, and a new login works', async () => {
  const context = await rig.context()
  const page = await rig.signedIn(context, 'indexed')
  const other = await rig.open(context, '/indexed/home')
  await rig.service.dev.revokeRefreshTokens()
  await rig.service.dev.expireAccessTokens()
  expect(await call(page)).toBe('session_ended')
  expect(await call(other)).toBe('login_required')
  const ended = (of: Page) => of.evaluate(() => window.app.events.filter(({ type }) => type === 'session_ended').length)
  expect(await Promise.all([ended(page), ended(other)])).toEqual([1, 1])
})
