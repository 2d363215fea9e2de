import { createAuthConfig, createSession, type TokenStorage } from 'agent-auth'
import { afterAll, describe, expect, test } from 'vitest'
import { backendContext } from '../../src/backend/context.ts'
import { newSessionId, sessionKey } from '../../src/backend/cookies/session-cookie.ts'
import { liveSessions, sessionLimits } from '../../src/backend/sessions/live-sessions.ts'
import { backendRig } from '../support/backend-rig.ts'
import { json, optionsWith, scriptedFetch } from '../support/token-flow.ts'

const config = createAuthConfig(optionsWith())
const record = (name: string): string =>
  JSON.stringify({
    v: 1,
    owner: name,
    id: name,
    rev: 1,
    accessToken: 'a'.repeat(800),
    refreshToken: 'r',
    obtainedAtMs: 0,
  })

/** A shared storage that has a session for every key. */
const signedInStorage: TokenStorage = { getItem: (name) => record(name), setItem() {}, removeItem() {} }

describe('sessions in memory', () => {
  test('of 5,000 sessions used, the latest 1,000 stay', async () => {
    const live = liveSessions(config, signedInStorage)
    for (let at = 0; at < 5_000; at++) await live.use(String(at), ({ session }) => session.ready())
    expect(live.all().length).toBe(1_000)
    const [latest, release] = live.acquire('4999')
    expect(latest.session.state.status).toBe('signed-in')
    const [forgotten, releaseOther] = live.acquire('0')
    expect(forgotten.session.state.status).toBe('loading')
    release()
    releaseOther()
  })

  test('callers of one key share one session, and a session in use is never evicted', async () => {
    const live = liveSessions(config, signedInStorage)
    await live.use('mine', ({ session }) => session.ready())
    const [first, release] = live.acquire('mine')
    for (let at = 0; at < 2_000; at++) await live.use(String(at), ({ session }) => session.ready())
    expect(live.acquire('mine')[0]).toBe(first)
    release()
  })

  test('the least recently used session is evicted first', async () => {
    const live = liveSessions(config, signedInStorage)
    const touch = async (key: string): Promise<void> => void (await live.use(key, ({ session }) => session.ready()))
    await touch('mine')
    for (let at = 0; at < 999; at++) await touch(String(at))
    await touch('mine')
    await touch('one more')
    expect(live.acquire('mine')[0].session.state.status).toBe('signed-in')
    expect(live.acquire('0')[0].session.state.status).toBe('loading')
  })

  test('no session is evicted while in use, for any number of them', async () => {
    const live = liveSessions(config, signedInStorage)
    const used = Array.from({ length: 10_010 }, (_, at) => live.acquire(String(at))[0])
    await live.use('one more', ({ session }) => session.ready())
    expect(used.filter((one, at) => live.acquire(String(at))[0] !== one)).toEqual([])
  })

  test('keys without a session leave nothing in memory', async () => {
    const live = liveSessions(config, { ...signedInStorage, getItem: () => null })
    for (let at = 0; at < 100; at++) await live.use(String(at), ({ session }) => session.ready())
    expect(live.all().length).toBe(0)
  })

  test('1,000 sessions without users stay, and 9,000 unsaved ones beside them', () => {
    expect(sessionLimits).toEqual({ unused: 1_000, unsaved: 9_000 })
  })

  test('unsaved sessions stay up to both limits, and those in use beyond that', async () => {
    const failing: TokenStorage = {
      getItem: () => null,
      setItem: () => Promise.reject(new Error('READONLY')),
      removeItem() {},
    }
    const live = liveSessions(config, failing, { unused: 10, unsaved: 90 })
    const tokens = { accessToken: 'a', refreshToken: 'r', obtainedAtMs: 0 }
    const signIn = (key: string): Promise<void> => live.use(key, ({ session }) => session.signIn(tokens))
    for (let at = 0; at < 11; at++) await signIn(String(at))
    // It is one of those that were idle for longest.
    const [mine, release] = live.acquire('0')
    for (let at = 11; at < 112; at++) await signIn(String(at))
    expect(live.acquire('0')[0]).toBe(mine)
    expect(live.all().length).toBe(101)
    release()
    const statusOf = (key: string): string => live.acquire(key)[0].session.state.status
    expect({ newest: statusOf('111'), dropped: statusOf('1') }).toEqual({ newest: 'signed-in', dropped: 'loading' })
  })

  test('a session with a refreshed token that was not written, because no read succeeded, stays', async () => {
    let failing = false
    const getItem = (name: string): string => {
      if (failing) throw new Error('ECONNREFUSED')
      return record(name)
    }
    const { fetch } = scriptedFetch(json({ access_token: 'new', refresh_token: 'new' }))
    const live = liveSessions(createAuthConfig(optionsWith({ fetch })), { ...signedInStorage, getItem })
    const use = (key: string): Promise<unknown> => live.use(key, ({ session }) => session.ready())
    await use('mine')
    failing = true
    const refreshed = live.use('mine', ({ session }) => session.getAccessToken({ forceRefresh: true }))
    expect(await refreshed).toBe('new')
    failing = false
    for (let at = 0; at < 1_100; at++) await use(String(at))
    expect(await live.use('mine', ({ session }) => session.getAccessToken())).toBe('new')
  })

  test('the hashes of cookies are kept for the latest 1,000, and are each of their own app', async () => {
    const rig = await backendRig()
    closing.push(rig.close)
    const context = backendContext(rig.options)
    const ids = Array.from({ length: 1_500 }, () => newSessionId(context))
    const keys = await Promise.all(ids.map((id) => sessionKey(context, id)))
    expect(new Set(keys).size).toBe(1_500)
    expect(context.sessionKeys.size).toBe(1_000)
    expect(await Promise.all(ids.map((id) => sessionKey(context, id)))).toEqual(keys)
    const other = backendContext({ ...rig.options, redirectUri: 'https://other.example/auth/callback' })
    expect(keys).not.toContain(await sessionKey(other, ids.at(-1) ?? ''))
  })

  const closing: (() => Promise<void>)[] = []
  afterAll(() => Promise.all(closing.map((close) => close())))

  test('a storage without a lock of its own still sees one refresh at a time', async () => {
    const items = new Map<string, string>()
    const sessions: TokenStorage = {
      getItem: async (name) => items.get(name),
      setItem: async (name, value) => void items.set(name, value),
      removeItem: async (name) => void items.delete(name),
    }
    const rig = await backendRig({ backend: { sessions } })
    closing.push(rig.close)
    const browser = rig.browser()
    await browser.logIn()
    const session = await rig.backend.getSession(browser.request('/'))
    if (session.status === 'signed-out') throw new Error('signed out')
    const { authUrl, baseUrl, clientId, clientSecret, redirectUri, fetch } = rig.options
    const options = { authUrl, baseUrl, clientId, clientSecret, redirectUri, fetch }
    const other = createSession(createAuthConfig(options), { storage: sessions, key: session.key })
    const rejected = await session.getAccessToken()
    await Promise.all([session.getAccessToken({ rejected }), other.getAccessToken({ rejected })])
    expect(rig.sent.filter(({ url }) => url.includes('=refresh_token'))).toHaveLength(1)
  })
})
