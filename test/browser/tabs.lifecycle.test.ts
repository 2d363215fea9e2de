// @module-tag chromium

import type { BrowserContext, Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { callOnResume, whileFrozen } from './freeze.ts'
import { startRefresh } from './held-response.ts'
import { browserRig, call, signIn, started, statusOf, untilLockWanted } from './rig.ts'

const rig = browserRig()

interface DiscardedTab {
  /** Loads the tab again, as the browser does when the user returns to it, and resolves with what `ready()` gave. */
  restore(): Promise<string>
  call(): Promise<number | string>
  token(): Promise<string>
}

/**
 * Takes the process of a page away without an event, as a discard does: the DevTools protocol has no command for a discard, and the
 * browser discards no page that it watches. Playwright gives such a page up, so that this goes on without it.
 */
async function discard(page: Page): Promise<DiscardedTab> {
  const devtools = await page.context().newCDPSession(page)
  const gone = page.waitForEvent('crash')
  void devtools.send('Page.crash').catch(() => {})
  await gone
  const evaluate = async (expression: string) => {
    const { result } = await devtools.send('Runtime.evaluate', { expression, awaitPromise: true })
    return result.value
  }
  return {
    async restore() {
      await devtools.send('Page.reload')
      await expect.poll(() => evaluate('window.app?.started'), { timeout: 60_000 }).toBeTruthy()
      return evaluate('window.app.started')
    },
    call: () => evaluate('window.app.call()'),
    token: () => evaluate('window.app.auth.session.getAccessToken()'),
  }
}

const tokenOf = (page: Page): Promise<string> => page.evaluate(() => window.app.auth.session.getAccessToken())

/** Opens a page whose timers of 20 s fire when the test says so. Playwright's clock would be that of all pages of the context. */
async function openWithWaits(context: BrowserContext): Promise<{ page: Page; endWaits: () => Promise<void> }> {
  const page = await context.newPage()
  await page.addInitScript(() => {
    const { setTimeout } = window
    const waits: (() => void)[] = []
    const later = (run: () => void, ms?: number): number => (ms === 20_000 ? waits.push(run) : setTimeout(run, ms))
    Object.assign(window, { waits, setTimeout: later })
  })
  await page.goto(`${rig.origin}/indexed/home`)
  await started(page)
  const endWaits = (): Promise<void> =>
    page.evaluate(() => {
      const waits = (window as unknown as { waits: (() => void)[] }).waits.splice(0)
      if (waits.length === 0) throw new Error('no wait of 20 s has begun')
      for (const end of waits) end()
    })
  return { page, endWaits }
}

it('a tab that is frozen while it has the lock lets the others wait 20 s at most, and they use its tokens when it goes on', async () => {
  const context = await rig.context()
  // The timer of the held request must not be over when its tab goes on.
  await context.addInitScript(() => {
    window.adjust = (options) => ({ ...options, timeoutMs: 60_000 })
  })
  const holder = await rig.signedIn(context, 'indexed')
  const { page: waiting, endWaits } = await openWithWaits(context)
  const held = await startRefresh(rig, holder)
  await whileFrozen(holder, async () => {
    // From here on only the freeze keeps the lock.
    held.answer()
    const outcome = call(waiting)
    await untilLockWanted(waiting)
    await endWaits()
    expect(await outcome).toBe('lock_timeout')
    expect(await statusOf(waiting)).toBe('signed-in')
  })
  expect(await held.outcome).toBe(200)
  expect(await call(waiting)).toBe(200)
  expect(rig.tokenRequests('refresh_token')).toBe(1)
  expect(await tokenOf(waiting)).toBe(await tokenOf(holder))
})

it('a tab that was frozen during two refreshes of another tab sends none of its own', async () => {
  const context = await rig.context()
  const frozen = await rig.signedIn(context, 'indexed')
  const other = await rig.open(context, '/indexed/home')
  const refreshTwice = async (): Promise<void> => {
    for (const refreshes of [1, 2]) {
      await rig.service.dev.expireAccessTokens()
      // A 401 just after a refresh is final.
      await other.evaluate(() => {
        window.app.ahead.monotonicMs += 60_000
      })
      expect(await call(other)).toBe(200)
      expect(rig.tokenRequests('refresh_token')).toBe(refreshes)
    }
  }
  expect(await whileFrozen(frozen, refreshTwice, callOnResume)).toBe(200)
  expect(rig.tokenRequests('refresh_token')).toBe(2)
  expect(await tokenOf(frozen)).toBe(await tokenOf(other))
})

it('session: a discarded tab has its own session again when it is restored', async () => {
  const page = await rig.signedIn(await rig.context(), 'session')
  const before = await tokenOf(page)
  const discarded = await discard(page)
  expect(await discarded.restore()).toBe('signed-in')
  expect(await discarded.token()).toBe(before)
  await page.close()
})

it('session: two windows of different users that expire together each refresh for their own user', async () => {
  const context = await rig.context()
  const ada = await rig.signedIn(context, 'session')
  rig.service.dev.autoApprove('rui@demo.example')
  const rui = await rig.open(context, '/session/home')
  await signIn(rui)
  const userOf = async (page: Page): Promise<string | undefined> => {
    expect(await call(page)).toBe(200)
    const last = rig.service.dev.journal().findLast((entry) => entry.kind === 'request' && entry.origin === 'base')
    return last?.personId
  }
  const before = [await userOf(ada), await userOf(rui)]
  expect(new Set(before).size).toBe(2)
  await rig.service.dev.expireAccessTokens()
  expect(await Promise.all([call(ada), call(rui)])).toEqual([200, 200])
  expect(rig.tokenRequests('refresh_token')).toBe(2)
  expect([await userOf(ada), await userOf(rui)]).toEqual(before)
})

// The last one of this file, because the service handles the request of the discarded tab in any case, three seconds later.
it('a tab that is discarded while it has the lock frees it, and the restored tab goes on with the tokens of the others', async () => {
  const context = await rig.context()
  const page = await rig.signedIn(context, 'indexed')
  const other = await rig.open(context, '/indexed/home')
  await rig.service.dev.expireAccessTokens()
  rig.service.dev.addFault({ match: { path: '/auth/v1/token' }, effect: { delayMs: 3_000 }, times: 1 })
  call(page).catch(() => {})
  // The fault is used up when the service has begun the request.
  await expect.poll(() => rig.service.dev.faults()).toEqual([])
  const discarded = await discard(page)
  expect(await call(other)).toBe(200)
  const token = await tokenOf(other)
  expect(await discarded.restore()).toBe('signed-in')
  expect(await discarded.call()).toBe(200)
  expect([await discarded.token(), await tokenOf(other)]).toEqual([token, token])
  await page.close()
})
