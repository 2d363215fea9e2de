import { type MaybePromise, memoryStorage, type TokenStorage } from 'agent-auth'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type AppBrowser, type BackendRig, guard, steppedStorage } from '../support/backend-rig.ts'
import { type TestClock, testClock } from '../support/clock.ts'
import { gate } from '../support/gate.ts'
import { rigOf } from '../support/rig-of.ts'

afterEach(() => {
  vi.useRealTimers()
})

/** A service that numbers its tokens, and what its revocation endpoint was told. `held` delays the responses to refreshes. */
function numbered(held?: Promise<unknown>): {
  options: { revocationEndpoint: string; fetch: typeof fetch }
  revoked: (string | null)[]
  live: Set<string>
} {
  let issued = 0
  const live = new Set<string>()
  const revoked: (string | null)[] = []
  const revocationEndpoint = 'https://auth.example.com/revoke'
  const answer = (url: string, init?: RequestInit): Response => {
    if (url === revocationEndpoint) {
      const token = new URLSearchParams(String(init?.body)).get('token')
      revoked.push(token)
      live.delete(token ?? '')
      return new Response(null)
    }
    if (!url.includes('/token?')) return new Response(null, { status: 404 })
    if (url.includes('=refresh_token')) live.delete(JSON.parse(String(init?.body)).refresh_token)
    const refresh_token = `refresh-${++issued}`
    live.add(refresh_token)
    return Response.json({ access_token: `access-${issued}`, refresh_token, expires_in: 600 })
  }
  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const response = answer(String(input), init)
    if (String(input).includes('=refresh_token')) await held
    return response
  }
  return { options: { revocationEndpoint, fetch }, revoked, live }
}

describe('revocation at logout', () => {
  test('revokes a refreshed token that could not be saved', async () => {
    const { options, live, revoked } = numbered()
    const clock = testClock(Date.now())
    let failing = false
    const sessions = steppedStorage((operation) => {
      if (failing && operation === 'setItem') throw new Error('OOM')
    })
    const rig = await rigOf({ backend: { ...options, clock, sessions } })
    const browser = rig.browser()
    await browser.send('/auth/login').then(finish(browser))
    clock.advance(700_000)
    failing = true
    await browser.call()
    expect([...live]).toEqual(['refresh-2'])
    expect((await browser.logOut()).status).toBe(200)
    expect(revoked).toContain('refresh-2')
    expect([...live]).toEqual([])
    expect(rig.events.at(-1)).toEqual({ type: 'logged_out', revocation: 'done' })
  })

  test('is reported as failed, not as off, if no token can be read', async () => {
    const { options, live } = numbered()
    const inner = memoryStorage()
    let unreadable = false
    const sessions = steppedStorage((operation) => {
      if (unreadable && operation === 'getItem') throw new Error('ECONNREFUSED')
    }, inner)
    const rig = await rigOf({ backend: { ...options, sessions: inner } })
    const browser = rig.browser()
    await browser.send('/auth/login').then(finish(browser))
    const elsewhere = rig.browser(rig.another({ sessions }))
    elsewhere.setCookie(...browser.session())
    unreadable = true
    expect((await elsewhere.logOut()).status).toBe(200)
    expect(rig.events.at(-1)).toEqual({ type: 'logged_out', revocation: 'failed' })
    expect([...live]).toEqual(['refresh-1'])
  })

  test('is off without a revocation endpoint', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    await browser.logIn()
    await browser.logOut()
    expect(rig.events.at(-1)).toEqual({ type: 'logged_out', revocation: 'off' })
  })
})

describe('a logout while a refresh is in progress', () => {
  type Where = 'the same process' | 'another process'
  interface Refreshing {
    readonly rig: BackendRig
    readonly clock: TestClock
    readonly live: Set<string>
    readonly browser: AppBrowser
    readonly elsewhere: AppBrowser
    readonly refreshed: Promise<unknown>
    readonly stored: Map<string, string>
    release(): void
  }

  /** A session whose refresh has reached the service, which has rotated the token and not yet responded. */
  async function refreshing(where: Where, onLock: () => void = () => {}): Promise<Refreshing> {
    const held = gate()
    const { options, live } = numbered(held.passed)
    const clock = testClock(Date.now())
    const stored = new Map<string, string>()
    const lock = memoryStorage()
    const sessions: TokenStorage = {
      getItem: async (name) => stored.get(name) ?? null,
      setItem: async (name, value) => void stored.set(name, value),
      removeItem: async (name) => void stored.delete(name),
      withLock: (name, task) => {
        if (live.has('refresh-2')) onLock()
        // Without the signal: the lock may be granted to a logout that no longer waits for it.
        return lock.withLock?.(name, task) as Promise<never>
      },
    }
    const rig = await rigOf({ backend: { ...options, clock, sessions } })
    const browser = rig.browser()
    await browser.send('/auth/login').then(finish(browser))
    const elsewhere = where === 'another process' ? rig.browser(rig.another({})) : rig.browser()
    elsewhere.setCookie(...browser.session())
    clock.advance(700_000)
    const refreshed = elsewhere.call()
    await expect.poll(() => [...live]).toEqual(['refresh-2'])
    return { rig, clock, live, browser, elsewhere, refreshed, stored, release: held.open }
  }

  test.each<Where>(['the same process', 'another process'])(
    'in %s waits for the new token, revokes it and leaves no record',
    async (where) => {
      let proceed = (): void => {}
      // The logout waits for the lock, which the refresh has.
      const { browser, clock, elsewhere, live, refreshed, release, rig, stored } = await refreshing(where, () =>
        proceed(),
      )
      proceed = release
      expect((await browser.logOut()).status).toBe(200)
      release()
      await refreshed
      expect([...live]).toEqual([])
      expect([...stored.keys()]).toEqual([])
      expect(rig.events.filter(({ type }) => type === 'logged_out')).toEqual([
        { type: 'logged_out', revocation: 'done' },
      ])
      // Another process reads the storage once a second.
      clock.advance(1_000)
      expect(await elsewhere.status()).toBe('signed-out')
    },
  )

  test.each<Where>(['the same process', 'another process'])(
    'in %s that does not end waits for a second, then ends the session and reports that a token is left',
    async (where) => {
      const { browser, clock, elsewhere, refreshed, release, rig, stored } = await refreshing(where)
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const leaving = browser.logOut()
      for (let round = 0; round < 100; round++) await vi.advanceTimersByTimeAsync(20)
      if (where === 'the same process') expect((await leaving).status).toBe(200)
      release()
      await refreshed
      expect((await leaving).status).toBe(200)
      expect([...stored.keys()]).toEqual([])
      expect(rig.events.filter(({ type }) => type === 'logged_out')).toEqual([
        { type: 'logged_out', revocation: 'failed' },
      ])
      // Another process reads the storage once a second.
      clock.advance(1_000)
      expect(await elsewhere.status()).toBe('signed-out')
    },
  )
})

test('a process that waits for the lock behind a logout refreshes nothing', async () => {
  const { options, live } = numbered()
  const clock = testClock(Date.now())
  const seen: string[] = []
  const removal = gate()
  const sessions = steppedStorage((operation) => {
    seen.push(operation)
    return operation === 'removeItem' ? removal.passed : undefined
  })
  const rig = await rigOf({ backend: { ...options, clock, sessions } })
  const browser = rig.browser()
  await browser.send('/auth/login').then(finish(browser))
  const elsewhere = rig.browser(rig.another({}))
  elsewhere.setCookie(...browser.session())
  clock.advance(700_000)
  const leaving = browser.logOut()
  await expect.poll(() => seen).toContain('removeItem')
  seen.length = 0
  const call = elsewhere.call()
  await expect.poll(() => seen).toContain('withLock')
  removal.open()
  expect((await leaving).status).toBe(200)
  expect((await call).status).toBe(401)
  expect([...live]).toEqual([])
})

/** Continues from the response of the login route to the end of the callback, with an invented code. */
function finish(browser: { send(path: string): Promise<Response> }): (started: Response) => Promise<void> {
  return async (started) => {
    const state = new URL(started.headers.get('location') ?? '').searchParams.get('state')
    expect((await browser.send(`/auth/callback?code=c&state=${state}`)).status).toBe(200)
  }
}

describe('invented cookies', () => {
  type Operation = 'getItem' | 'setItem' | 'removeItem' | 'withLock'
  const countingStorage = (): { sessions: TokenStorage; count: Record<Operation, number> } => {
    const count = { getItem: 0, setItem: 0, removeItem: 0, withLock: 0 }
    const sessions = steppedStorage((operation): MaybePromise<void> => void count[operation]++)
    return { sessions, count }
  }
  const random = 'A'.repeat(43)
  const ids = { 'of today': Math.floor(Date.now() / 1_000).toString(36), 'of long ago': '00001' }

  test.each(Object.entries(ids))('an id %s costs the storage one read at most, for every route', async (_, began) => {
    const { sessions, count } = countingStorage()
    const rig = await rigOf({ backend: { sessions } })
    const name = '__Host-agent-auth'
    for (const [path, init] of [
      ['/auth/session', {}],
      ['/api/llm_models/search', { method: 'POST', headers: guard }],
      ['/auth/callback?code=c&state=unknown', {}],
      ['/auth/logout', { method: 'POST', headers: guard }],
    ] as const) {
      const browser = rig.browser()
      browser.setCookie(name, `${began}.${random}`)
      const before = count.getItem
      await browser.send(path, init)
      expect(count.getItem - before).toBeLessThanOrEqual(1)
    }
    expect(count).toMatchObject({ setItem: 0, removeItem: 0, withLock: 0 })
  })
})
