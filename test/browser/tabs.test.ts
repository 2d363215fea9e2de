// @module-tag chromium

import type { Frame, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { callOnResume, whileFrozen } from './freeze.ts'
import { startRefresh } from './held-response.ts'
import {
  browserRig,
  call,
  signIn,
  started,
  statusOf,
  untilLockWanted,
  untilResolvesTrue,
  untilStatus,
  untilTrue,
} from './rig.ts'

const rig = browserRig()
const tokenPath = { path: '/auth/v1/token' }

/** What the page's session tells, with when it changed to this status. */
const toldAt = (page: Page, status: string): Promise<number> =>
  page.evaluate((wanted) => window.app.told.findLast((told) => told.status === wanted)?.atMs ?? Number.NaN, status)

const sessionRef = (page: Page): Promise<string | undefined> =>
  page.evaluate(() => window.app.auth.session.state.sessionRef)

const signOut = (page: Page): Promise<string> => page.evaluate(() => window.app.codeOf(window.app.auth.signOut()))

/** What a page hears when it is shown again. */
const wake = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))

describe('refresh', () => {
  it('six tabs with ten calls each find the token refused: one refresh, every call succeeds', async () => {
    const context = await rig.context()
    const pages = [await rig.signedIn(context, 'indexed')]
    for (let more = 0; more < 5; more++) pages.push(await rig.open(context, '/indexed/home'))
    for (const round of [1, 2]) {
      await rig.service.dev.expireAccessTokens()
      const ten = (page: Page) => page.evaluate(() => Promise.all(Array.from({ length: 10 }, () => window.app.call())))
      const results = await Promise.all(pages.map(ten))
      expect(results.flat()).toEqual(Array.from({ length: 60 }, () => 200))
      expect(rig.tokenRequests('refresh_token')).toBe(round)
      // A 401 just after a refresh counts as the API's last word; half a minute on it does not.
      for (const page of pages)
        await page.evaluate(() => {
          window.app.ahead.monotonicMs += 60_000
        })
    }
  })

  it('a sign-out in one tab during a refresh in another leaves everybody signed out', async () => {
    const context = await rig.context()
    const here = await rig.signedIn(context, 'indexed')
    const there = await rig.open(context, '/indexed/home')
    const { outcome, answer } = await startRefresh(rig, here)
    const signedOut = signOut(there)
    await untilStatus(there, 'signed-out')
    answer()
    expect(await signedOut).toBe('resolved')
    // Nobody can renew any more: the caller gets the API's own refusal.
    expect(await outcome).toBe(401)
    await untilStatus(here, 'signed-out')
    await here.reload()
    expect(await started(here)).toBe('signed-out')
  })

  it('a tab closed in the middle of a refresh keeps no lock: another goes on with the session', async () => {
    const context = await rig.context()
    const closing = await rig.signedIn(context, 'indexed')
    const other = await rig.open(context, '/indexed/home')
    await rig.service.dev.expireAccessTokens()
    rig.service.dev.addFault({ match: tokenPath, effect: { delayMs: 3_000 }, times: 1 })
    void call(closing).catch(() => {})
    // The fault is used up when the service has begun the request. It begins none whose client has gone.
    await expect.poll(() => rig.service.dev.faults()).toEqual([])
    await closing.close()
    expect(await call(other)).toBe(200)
    // The answer that nobody hears is given all the same.
    await expect.poll(() => rig.tokenRequests('refresh_token')).toBe(2)
  })

  it('without Web Locks and channels two tabs stay signed in', async () => {
    const context = await rig.context()
    await context.addInitScript(() => {
      Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })
      Object.defineProperty(window, 'BroadcastChannel', { value: undefined })
    })
    const pages = [await rig.signedIn(context, 'indexed'), await rig.open(context, '/indexed/home')]
    await rig.service.dev.expireAccessTokens()
    expect(await Promise.all(pages.map(call))).toEqual([200, 200])
    expect(await Promise.all(pages.map(statusOf))).toEqual(['signed-in', 'signed-in'])
    await signOut(pages[0] as Page)
    await untilResolvesTrue(pages[1] as Page, () => window.app.call().then((code) => code === 'login_required'))
  })
})

describe('sign-in and sign-out', () => {
  const tabs = 5

  it.each(['indexed', 'memory', 'session'] as const)('%s: a sign-out is seen in every tab at once', async (kind) => {
    const context = await rig.context()
    const pages = []
    for (let count = 0; count < tabs; count++) {
      const page = await rig.open(context, `/${kind}/home`)
      if ((await statusOf(page)) !== 'signed-in') await signIn(page)
      pages.push(page)
    }
    const [first, ...others] = pages as [Page, ...Page[]]
    const startedAtMs = Date.now()
    expect(await signOut(first)).toBe('resolved')
    for (const page of others) {
      await untilStatus(page, 'signed-out')
      expect((await toldAt(page, 'signed-out')) - startedAtMs).toBeLessThan(10_000)
      expect(await call(page)).toBe('login_required')
    }
  })

  it('a sign-in is seen in a tab that was signed out', async () => {
    const context = await rig.context()
    const waiting = await rig.open(context, '/indexed/home')
    await rig.signedIn(context, 'indexed')
    await untilStatus(waiting, 'signed-in')
    expect(await call(waiting)).toBe(200)
  })

  it('another user signs in elsewhere: this tab reports a new session and calls for that user', async () => {
    const context = await rig.context()
    const watching = await rig.signedIn(context, 'indexed')
    const other = await rig.open(context, '/indexed/home')
    const before = await sessionRef(watching)
    rig.service.dev.autoApprove('rui@demo.example')
    await signIn(other)
    await untilTrue(watching, (old) => window.app.auth.session.state.sessionRef !== old, before)
    expect(await sessionRef(watching)).toBe(await sessionRef(other))
    expect(await call(watching)).toBe(200)
    expect(rig.tokenRequests('refresh_token')).toBe(0)
  })

  it('a sign-out ends a sign-in in another tab that could not be saved over the earlier record', async () => {
    const context = await rig.context()
    const saved = await rig.signedIn(context, 'indexed')
    const unsaved = await context.newPage()
    await unsaved.addInitScript(() => {
      for (const operation of ['put', 'delete'] as const)
        IDBObjectStore.prototype[operation] = () => {
          throw new DOMException('full', 'QuotaExceededError')
        }
    })
    await unsaved.goto(`${rig.origin}/indexed/home`)
    await started(unsaved)
    rig.service.dev.autoApprove('rui@demo.example')
    await signIn(unsaved)
    expect(await sessionRef(unsaved)).not.toBe(await sessionRef(saved))
    expect(await signOut(saved)).toBe('resolved')
    await untilStatus(unsaved, 'signed-out')
    expect(await unsaved.evaluate(() => window.app.auth.session.state.reason)).toBe('signed_out')
  })

  it('memory: a tab that signs in right after its sign-out is not signed out by the echo of the others', async () => {
    const context = await rig.context()
    const here = await rig.signedIn(context, 'memory')
    const there = await rig.signedIn(context, 'memory')
    await signOut(here)
    await signIn(here)
    await untilStatus(there, 'signed-out')
    await signIn(there)
    expect(await Promise.all([statusOf(here), statusOf(there)])).toEqual(['signed-in', 'signed-in'])
  })

  it('memory: who signs in again in a window is not signed out, on waking up, by a sign-out of before', async () => {
    const context = await rig.context()
    const here = await rig.signedIn(context, 'memory')
    const there = await rig.signedIn(context, 'memory')
    await signOut(there)
    await untilStatus(here, 'signed-out')
    await here.click('#popup')
    await untilStatus(here, 'signed-in')
    await wake(here)
    expect(await call(here)).toBe(200)
    expect(await statusOf(here)).toBe('signed-in')
  })

  it('memory: a sign-out in a signed-out tab reaches the signed-in ones', async () => {
    const context = await rig.context()
    const here = await rig.signedIn(context, 'memory')
    const there = await rig.open(context, '/memory/home')
    expect(await statusOf(there)).toBe('signed-out')
    expect(await signOut(there)).toBe('resolved')
    await untilStatus(here, 'signed-out')
  })

  it('memory: site data that is cleared is not taken for a sign-out', async () => {
    const context = await rig.context()
    const here = await rig.signedIn(context, 'memory')
    const there = await rig.signedIn(context, 'memory')
    await signOut(there)
    await untilStatus(here, 'signed-out')
    await signIn(here)
    await here.evaluate(() => localStorage.clear())
    await wake(here)
    expect(await call(here)).toBe(200)
    expect(await statusOf(here)).toBe('signed-in')
  })
})

describe('tabs that were away', () => {
  it.each(['indexed', 'memory'] as const)('%s: a frozen tab is signed out before its first call', async (kind) => {
    const context = await rig.context()
    const frozen = await rig.signedIn(context, kind)
    const other = await rig.open(context, `/${kind}/home`)
    if (kind === 'memory') await signIn(other)
    let before = Number.NaN
    const signOutThere = async (): Promise<void> => {
      expect(await signOut(other)).toBe('resolved')
      before = rig.service.dev.journal().length
    }
    expect(await whileFrozen(frozen, signOutThere, callOnResume)).toBe('login_required')
    expect(rig.service.dev.journal().slice(before)).toEqual([])
    expect(await statusOf(frozen)).toBe('signed-out')
  })

  it('session: a tab that shows another site during a sign-out elsewhere comes back signed out', async () => {
    const context = await rig.context()
    const page = await rig.signedIn(context, 'session')
    const other = await rig.open(context, '/session/home')
    await page.goto('about:blank')
    await other.evaluate(() => window.app.auth.signOut())
    await page.goto(`${rig.origin}/session/home`)
    expect(await started(page)).toBe('signed-out')
    expect(await call(page)).toBe('login_required')
    await signIn(page)
    await page.reload()
    expect(await started(page)).toBe('signed-in')
  })

  it('a window opened with a copy of sessionStorage drops the copy; the first tab keeps its session', async () => {
    const context = await rig.context()
    const first = await rig.signedIn(context, 'session')
    const opened = context.waitForEvent('page')
    await first.evaluate(() => void window.open('/session/home'))
    const copy = await opened
    expect(await started(copy)).toBe('signed-out')
    expect(await copy.evaluate(() => Object.keys(sessionStorage).filter((key) => key.includes('http')))).toEqual([])
    await first.reload()
    expect(await started(first)).toBe('signed-in')
    await rig.service.dev.expireAccessTokens()
    expect(await call(first)).toBe(200)
  })

  it('session: a reload keeps the session on a slow machine, where the page before it releases the tab after two seconds', async () => {
    const context = await rig.context()
    const page = await rig.signedIn(context, 'session')
    const name = await page.evaluate(() => sessionStorage.getItem('agent-auth:tab'))
    const slow = await rig.open(context, '/memory/home')
    // This page is next in the queue for the tab's lock, so the reloaded page waits for it.
    await slow.evaluate((lock) => {
      const hold = (): Promise<void> => new Promise((release) => setTimeout(release, 2_000))
      void navigator.locks.request(lock, hold)
    }, `agent-auth:tab:${name}`)
    await untilLockWanted(slow)
    await page.reload()
    expect(await started(page)).toBe('signed-in')
    expect(await call(page)).toBe(200)
  })

  it('session: a frame of the same app, which shares the storage of its page, takes nothing from it', async () => {
    const context = await rig.context()
    await context.route(`${rig.origin}/session/**`, async (route) => {
      const response = await route.fetch()
      const policy = `${response.headers()['content-security-policy']}; frame-src 'self'`
      await route.fulfill({ response, headers: { ...response.headers(), 'content-security-policy': policy } })
    })
    const page = await rig.signedIn(context, 'session')
    // Where a redirect led was not routed.
    await page.reload()
    await started(page)
    await page.evaluate(() =>
      Object.assign(document.body.appendChild(document.createElement('iframe')), { src: '/session/home' }),
    )
    const frame = page.frames()[1] as Frame
    expect(await started(frame)).toBe('signed-in')
    await page.evaluate(() => {
      window.app.ahead.monotonicMs += 2_000
    })
    // The session reads its storage again.
    expect(await page.evaluate(() => window.app.codeOf(window.app.auth.session.getAccessToken()))).toBe('resolved')
  })
})
