import { createAuthConfig, createSession, type TokenStorage } from 'agent-auth'
import { afterAll, describe, expect, test } from 'vitest'
import { liveSessions } from '../../src/backend/sessions/live-sessions.ts'
import { backendRig } from '../support/backend-rig.ts'
import { optionsWith } from '../support/token-flow.ts'

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

  test('a key without a session leaves nothing in memory', async () => {
    const live = liveSessions(config, { ...signedInStorage, getItem: () => null })
    const first = await live.use('mine', async (session) => session)
    expect(await live.use('mine', async (session) => session)).not.toBe(first)
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
