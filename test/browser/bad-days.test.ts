// @module-tag chromium

import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { browserRig, call, started, statusOf } from './rig.ts'

const rig = browserRig()
const tokenPath = { path: '/auth/v1/token' }

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

it('ten minutes of 500 from the token endpoint end nothing: old token while it lasts, then errors, then recovery', async () => {
  const page = await rig.signedIn(await rig.context(), 'indexed')
  // A pause longer than a call waits, so that the test need not wait either.
  rig.service.dev.addFault({ match: tokenPath, effect: { status: 500, headers: { 'Retry-After': '60' } } })
  await ahead(page, { monotonicMs: 570_000 })
  expect(await call(page)).toBe(200)
  await ahead(page, { monotonicMs: 60_000 })
  for (let minutes = 0; minutes < 10; minutes += 5) {
    expect(await call(page)).toBe('temporarily_unavailable')
    await ahead(page, { monotonicMs: 300_000, wallMs: 300_000 })
  }
  expect(await statusOf(page)).toBe('signed-in')
  rig.service.dev.clearFaults()
  expect(await call(page)).toBe(200)
  await page.reload()
  expect(await started(page)).toBe('signed-in')
})

it.each([3_600_000, -3_600_000])(
  'a wall clock that jumps by %s ms, also over a reload, ends nothing',
  async (wallMs) => {
    const context = await rig.context()
    const page = await rig.signedIn(context, 'indexed')
    await ahead(page, { wallMs })
    expect(await call(page)).toBe(200)
    expect(rig.tokenRequests('refresh_token')).toBe(0)
    await context.addInitScript((ms) => {
      window.adjust = (options) => ({
        ...options,
        clock: { wallMs: () => Date.now() + ms, monotonicMs: () => performance.now() },
      })
    }, wallMs)
    await page.reload()
    expect(await started(page)).toBe('signed-in')
    for (let count = 0; count < 3; count++) expect(await call(page)).toBe(200)
    expect(rig.tokenRequests('refresh_token')).toBeLessThanOrEqual(1)
  },
)

it('after eight hours of sleep one refresh serves all calls', async () => {
  const page = await rig.signedIn(await rig.context(), 'indexed')
  await rig.service.dev.expireAccessTokens()
  await ahead(page, { wallMs: 8 * 3_600_000, monotonicMs: 8 * 3_600_000 })
  const results = await page.evaluate(() => {
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
    return Promise.all(Array.from({ length: 10 }, () => window.app.call()))
  })
  expect(results).toEqual(Array.from({ length: 10 }, () => 200))
  expect(rig.tokenRequests('refresh_token')).toBe(1)
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
