import { type MaybePromise, memoryStorage, type TokenStorage } from 'agent-auth'
import type { BackendOptions } from 'agent-auth/backend'
import { afterEach, describe, expect, test } from 'vitest'
import { type BackendRig, backendRig, codeOf, guard, type RigOptions, steppedStorage } from './support/backend-rig.ts'
import { testClock } from './support/clock.ts'

const rigs: BackendRig[] = []
afterEach(async () => {
  await Promise.all(rigs.splice(0).map((rig) => rig.close()))
})
async function rigOf(options?: RigOptions): Promise<BackendRig> {
  const rig = await backendRig(options)
  rigs.push(rig)
  return rig
}

describe('a write of the store that took effect and was reported as failed', () => {
  test('C-108 C-128 after a login it is found, so that a logout elsewhere ends the session in every process', async () => {
    const clock = testClock(Date.now())
    const inner = memoryStorage()
    let lost = 1
    const flaky: TokenStorage = {
      ...inner,
      async setItem(name, value) {
        await inner.setItem(name, value)
        if (lost-- > 0) throw new Error('Command timed out')
      },
    }
    const rig = await rigOf({ backend: { clock, sessions: flaky } })
    const one = rig.browser()
    const two = rig.browser(rig.another({ sessions: inner }))
    await one.logIn()
    const cookie = one.session()
    two.setCookie(...cookie)
    expect((await two.call()).status).toBe(200)
    expect((await two.logOut()).status).toBe(200)
    for (let round = 0; round < 3; round++) {
      clock.advance(6_000)
      for (const copy of [one, two]) {
        copy.setCookie(...cookie)
        expect((await copy.call()).status).toBe(401)
      }
    }
  })
})

/** A service that numbers its tokens, and what its revocation endpoint was told. */
function numbered(): { options: Partial<BackendOptions>; revoked: (string | null)[]; live: Set<string> } {
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
  const fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => answer(String(input), init)
  return { options: { revocationEndpoint, fetch }, revoked, live }
}

describe('revocation at logout', () => {
  test('C-128 F098 with a refreshed token that the store did not take: that one is revoked', async () => {
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

  test('C-128 F098 while the store cannot be read: the token at hand is revoked', async () => {
    const { options, live } = numbered()
    let unreadable = false
    const sessions = steppedStorage((operation) => {
      if (unreadable && operation === 'getItem') throw new Error('ECONNREFUSED')
    })
    const rig = await rigOf({ backend: { ...options, sessions } })
    const browser = rig.browser()
    await browser.send('/auth/login').then(finish(browser))
    unreadable = true
    expect((await browser.logOut()).status).toBe(200)
    expect([...live]).toEqual([])
    expect(rig.events.at(-1)).toEqual({ type: 'logged_out', revocation: 'done' })
  })

  test('C-128 F098 while the record cannot be removed: 503, and the token that is left is revoked all the same', async () => {
    const { options, live } = numbered()
    let failing = false
    const sessions = steppedStorage((operation) => {
      if (failing && operation === 'removeItem') throw new Error('READONLY')
    })
    const rig = await rigOf({ backend: { ...options, sessions } })
    const browser = rig.browser()
    await browser.send('/auth/login').then(finish(browser))
    failing = true
    expect(await codeOf(await browser.logOut())).toEqual([503, 'storage_failed'])
    expect([...live]).toEqual([])
    expect(rig.events.at(-1)).toEqual({ type: 'logged_out', revocation: 'done' })
  })

  test('C-128 F098 where no token can be had it is reported as failed, not as switched off', async () => {
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

  test('C-128 without a revocation endpoint it is off', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    await browser.logIn()
    await browser.logOut()
    expect(rig.events.at(-1)).toEqual({ type: 'logged_out', revocation: 'off' })
  })
})

/** From the answer of the login route to the end of the callback, with a code of our own. */
function finish(browser: { send(path: string): Promise<Response> }): (started: Response) => Promise<void> {
  return async (started) => {
    const state = new URL(started.headers.get('location') ?? '').searchParams.get('state')
    expect((await browser.send(`/auth/callback?code=c&state=${state}`)).status).toBe(200)
  }
}

describe('cookies that nobody was given', () => {
  type Operation = 'getItem' | 'setItem' | 'removeItem' | 'withLock'
  const countingStorage = (): { sessions: TokenStorage; count: Record<Operation, number> } => {
    const count = { getItem: 0, setItem: 0, removeItem: 0, withLock: 0 }
    const sessions = steppedStorage((operation): MaybePromise<void> => void count[operation]++)
    return { sessions, count }
  }
  const random = 'A'.repeat(43)
  const ids = { 'of today': Math.floor(Date.now() / 1_000).toString(36), 'of long ago': '00001' }

  test.each(Object.entries(ids))(
    'C-117 an id %s costs the store one read at most, whatever is asked',
    async (_, began) => {
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
    },
  )
})
