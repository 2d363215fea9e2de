import { createAuthConfig, type TokenStorage } from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { liveSessions } from '../../src/backend/sessions/live-sessions.ts'
import { testClock } from '../support/clock.ts'
import { configWith, optionsWith } from '../support/token-flow.ts'

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

  test('a session that the storage hid for a moment is back for the next request, also while an earlier one goes on', async () => {
    let isHidden = false
    const live = liveSessions(config, { ...signedInStorage, getItem: (name) => (isHidden ? null : record(name)) })
    const [{ session }] = live.acquire('mine')
    for (const hidden of [false, true]) {
      isHidden = hidden
      expect((await session.ready()).status).toBe(hidden ? 'signed-out' : 'signed-in')
    }
    isHidden = false
    expect((await live.use('mine', (next) => next.session.ready())).status).toBe('signed-in')
  })

  test('tokens that the storage did not take are saved before their session is evicted', async () => {
    const saved: string[] = []
    let isFull = true
    const setItem = (_: string, text: string) => void (isFull ? expect.fail() : saved.push(text))
    const clock = testClock()
    let sent = 0
    const fetch = async () => {
      sent++
      return Response.json({ access_token: 'new', token_type: 'Bearer', expires_in: 3_600 })
    }
    const live = liveSessions(configWith({ fetch, clock }), { ...signedInStorage, setItem })
    await live.use('mine', ({ session }) => session.getAccessToken({ forceRefresh: true }))
    clock.advance(7_200_000)
    await live.readAgain()
    isFull = false
    for (let at = 0; at < 1_001; at++) await live.use(String(at), ({ session }) => session.ready())
    await expect.poll(() => saved).toEqual([expect.stringContaining('"accessToken":"new"')])
    expect(sent).toBe(1)
  })

  test('a key without a session leaves nothing in memory', async () => {
    const live = liveSessions(config, { ...signedInStorage, getItem: () => null })
    const first = await live.use('mine', async (session) => session)
    expect(await live.use('mine', async (session) => session)).not.toBe(first)
  })
})
