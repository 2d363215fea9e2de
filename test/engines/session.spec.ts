import { describe, expect, it } from 'vitest'
import { dumpDatabase } from '../browser/database.ts'
import type { Tab } from './engine.ts'
import { addressOf, call, engineRig, goto, reload, signIn, statusOf, waitFor } from './rig.ts'

const rig = engineRig()
const refreshes = () => rig.requests({ grantType: 'refresh_token' }).length
const answersOfTheApi = () => rig.requests({ origin: 'base', method: 'POST' }).map(({ status }) => status)
const signOut = (tab: Tab) => tab.evaluate(() => window.app.codeOf(window.app.auth.signOut()))
const callTenTimes = (tab: Tab) => tab.evaluate(() => Promise.all(Array.from({ length: 10 }, () => window.app.call())))

/** The tab's clocks, from now on. */
const ahead = (tab: Tab, ms: number) =>
  tab.evaluate((more) => {
    window.app.ahead.monotonicMs += more
    window.app.ahead.wallMs += more
  }, ms)

it('indexed: the record is sealed by a key that cannot be exported', async () => {
  const tab = await rig.signedIn('indexed')
  const { text, keys } = await tab.evaluate(dumpDatabase)
  expect(keys).toEqual([{ name: 'AES-GCM', extractable: false }])
  expect(text.length).toBeGreaterThan(500)
  const token = await tab.evaluate(() => window.app.auth.session.getAccessToken())
  expect(token.length).toBeGreaterThan(20)
  expect(text.includes(token)).toBe(false)
  expect(await reload(tab)).toBe('signed-in')
  expect(await tab.evaluate(() => window.app.auth.session.getAccessToken())).toBe(token)
})

describe('refresh', () => {
  it.each(['memory', 'session', 'local', 'indexed'] as const)(
    '%s: when the token has run out, ten calls share one refresh',
    async (kind) => {
      const tab = await rig.signedIn(kind)
      await ahead(tab, 3_600_000)
      expect(await callTenTimes(tab)).toEqual(Array.from({ length: 10 }, () => 200))
      expect(refreshes()).toBe(1)
      expect(answersOfTheApi()).toEqual(Array.from({ length: 10 }, () => 200))
    },
  )

  it('two tabs, twenty calls with a refused token: one refresh, the other tab takes its tokens over', async () => {
    const tabs = [await rig.signedIn('indexed'), await rig.open('/indexed/home')] as const
    for (const round of [1, 2]) {
      await rig.service.dev.expireAccessTokens()
      const results = await Promise.all(tabs.map(callTenTimes))
      expect(results.flat()).toEqual(Array.from({ length: 20 }, () => 200))
      expect(refreshes()).toBe(round)
      const held = await Promise.all(tabs.map((tab) => tab.evaluate(() => window.app.auth.session.getAccessToken())))
      expect(held[0]).toBe(held[1])
      // A 401 just after a refresh counts as the API's last word; a minute on it does not.
      for (const tab of tabs)
        await tab.evaluate(() => {
          window.app.ahead.monotonicMs += 60_000
        })
    }
  })

  it('a Request with a body is sent again after a 401, and counts as used', async () => {
    const tab = await rig.signedIn('indexed')
    await rig.service.dev.expireAccessTokens()
    const seen = await tab.evaluate(async (url) => {
      const request = new Request(url, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })
      const response = await window.app.auth.fetch(request)
      return [response.status, request.bodyUsed]
    }, `${rig.service.baseUrl}/api/parent_agents/search`)
    expect([seen, answersOfTheApi()]).toEqual([
      [200, true],
      [401, 200],
    ])
  })

  it('a tab that is opened with an expired token and one that was open refresh it once', async () => {
    const first = await rig.signedIn('indexed')
    await ahead(first, 3_600_000)
    rig.app.before = () => {
      window.aheadMs = 3_600_000
    }
    const second = await rig.open('/indexed/home')
    expect((await Promise.all([callTenTimes(first), callTenTimes(second)])).flat()).toEqual(
      Array.from({ length: 20 }, () => 200),
    )
    expect(refreshes()).toBe(1)
  })
})

describe('sign-out', () => {
  it.each(['indexed', 'memory', 'session'] as const)('%s: is seen in three tabs within a second', async (kind) => {
    const tabs: Tab[] = []
    for (let count = 0; count < 3; count++) {
      const tab = await rig.open(`/${kind}/home`)
      if ((await statusOf(tab)) !== 'signed-in') await signIn(tab)
      tabs.push(tab)
    }
    const [first, ...others] = tabs as [Tab, ...Tab[]]
    const startedAtMs = Date.now()
    expect(await signOut(first)).toBe('resolved')
    for (const tab of others) {
      await waitFor(tab, () => window.app.auth.session.state.status === 'signed-out')
      const toldAtMs = await tab.evaluate(
        () => window.app.told.findLast(({ status }) => status === 'signed-out')?.atMs ?? Number.NaN,
      )
      expect(toldAtMs - startedAtMs).toBeLessThan(1_000)
      expect(await call(tab)).toBe('login_required')
    }
  })

  it.each(['indexed', 'memory'] as const)(
    '%s: Back to a page that was left signed in shows it signed out, and its first call carries no token',
    async (kind) => {
      const [tab, other] = [await rig.signedIn(kind), await rig.open(`/${kind}/home`)]
      if (kind === 'memory') await signIn(other)
      await tab.goto(`${rig.service.baseUrl}/openapi.json`)
      await signOut(other)
      await tab.back()
      await waitFor(tab, () => window.app?.started)
      expect(await call(tab)).toBe('login_required')
      expect(await addressOf(tab)).toBe(`${rig.app.origin}/${kind}/home`)
      expect(answersOfTheApi()).toEqual([])
    },
  )

  it('a sign-in is seen in a tab that was signed out', async () => {
    const waiting = await rig.open('/indexed/home')
    await rig.signedIn('indexed')
    await waitFor(waiting, () => window.app.auth.session.state.status === 'signed-in')
    expect(await call(waiting)).toBe(200)
    expect(await goto(waiting, `${rig.app.origin}/indexed/next`)).toBe('signed-in')
  })
})
