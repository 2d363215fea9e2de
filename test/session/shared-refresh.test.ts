import { describe, expect, test } from 'vitest'
import { expired } from '../support/expired-session.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { type Answer, word } from '../support/token-service.ts'

const hour = 3_600_000

const busy = (status: number, retryAfter?: string) => () =>
  new Response(null, { status, headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter } })

describe('a lost answer', () => {
  test.each([1, 2])('lost %i times, the same token is replayed and the call succeeds', async (times) => {
    const { time, service, records, tokens, session } = await expired()
    service.answer(...Array<Answer>(times).fill('lose'))
    const startMs = time.nowMs()
    const token = await time.until(session.getAccessToken())
    expect(time.nowMs() - startMs).toBeLessThanOrEqual(1_500)
    expect(service.sent).toEqual(Array(times + 1).fill(tokens.refreshToken))
    expect(records.record()).toMatchObject({ accessToken: token, rev: 2 })
    expect(service.history.filter((entry) => entry.event === 'granted').map(({ replay }) => replay)).toEqual([
      false,
      ...Array(times).fill(true),
    ])
  })

  const ambiguous: readonly (readonly [string, Answer])[] = [
    ['a lost answer', 'lose'],
    ['a 500', () => new Response(null, { status: 500 })],
    ['half an answer', () => new Response('{"access_tok', { headers: { 'content-type': 'application/json' } })],
  ]

  test.each(ambiguous)(
    '%s: after two replays the call fails, the next slot goes on with the same token',
    async (_, answer) => {
      const { time, service, tokens, session } = await expired()
      service.usually(answer)
      const failure = session.getAccessToken().catch((reason: unknown) => reason)
      expect(await time.until(failure)).toMatchObject({ retryable: true, details: { outcome: 'ambiguous' } })
      expect(service.sent).toHaveLength(3)
      expect(await session.getAccessToken().catch((reason: unknown) => reason)).toBe(await failure)
      expect(service.sent).toHaveLength(3)
      service.usually('ok')
      await time.pass(2_000)
      expect(service.familyOf(await session.getAccessToken())).toBe(1)
      expect(new Set(service.sent)).toEqual(new Set([tokens.refreshToken]))
    },
  )

  test('an answer that does not come is given up at the deadline, then replayed', async () => {
    const { time, service, tokens, session } = await expired()
    service.answer('hang')
    const startMs = time.nowMs()
    expect(await time.until(codeOf(session.getAccessToken()))).toBe('timeout')
    expect(time.nowMs() - startMs).toBe(10_000)
    await time.pass(500)
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
    expect(service.sent).toEqual([tokens.refreshToken, tokens.refreshToken])
    expect(service.history.filter(({ event }) => event === 'aborted')).toHaveLength(1)
  })
})

describe('the wait a busy service asks for', () => {
  const fromNow = (ms: number): string => new Date(Date.UTC(2026, 0, 1) + hour + ms).toUTCString()
  const exact: readonly (readonly [string, number])[] = [
    ['1', 1_000],
    ['120', 120_000],
    ['301', 300_000],
    [fromNow(20_000), 20_000],
  ]

  test.each(exact)('Retry-After %s: the next slot is %i ms away', async (retryAfter, waitMs) => {
    const { time, service, session, eventsOf } = await expired()
    service.answer(busy(503, retryAfter))
    const call = codeOf(session.getAccessToken())
    if (waitMs > 10_000) {
      expect(await call).toBe('temporarily_unavailable')
      await time.pass(waitMs - 1)
      expect(await codeOf(session.getAccessToken())).toBe('temporarily_unavailable')
      expect(service.sent).toHaveLength(1)
      await time.pass(1)
      expect(service.familyOf(await session.getAccessToken())).toBe(1)
    } else {
      await time.pass(waitMs - 1)
      expect(service.sent).toHaveLength(1)
      await time.pass(1)
      expect(await call).toHaveProperty('resolved')
    }
    expect(service.sent).toHaveLength(2)
    expect(eventsOf('refresh_failed')).toEqual([{ type: 'refresh_failed', code: 'temporarily_unavailable', waitMs }])
  })

  const ignored = ['0', '-5', '1e9', 'soon', '', '1.5', '2026-01-01', 'Infinity', fromNow(-60_000), '12 GMT', '5, 10']

  test.each(ignored)('Retry-After "%s" counts as none', async (retryAfter) => {
    const { time, service, session, eventsOf } = await expired()
    service.answer(busy(429, retryAfter))
    await time.until(session.getAccessToken())
    const [failed] = eventsOf('refresh_failed')
    expect(failed?.waitMs).toBeGreaterThanOrEqual(250)
    expect(failed?.waitMs).toBeLessThanOrEqual(500)
    expect(service.sent).toHaveLength(2)
  })

  test('beyond the caller’s time the error says how long to wait', async () => {
    const { service, session } = await expired()
    service.answer(busy(429, '42'))
    await expect(session.getAccessToken()).rejects.toMatchObject({
      status: 429,
      retryable: true,
      details: { outcome: 'busy', retryAfterMs: 42_000 },
    })
  })

  test('each of eight waits of a client is half to all of a cap that doubles from 0.5 s to 30 s', async () => {
    const { clock, service, realm } = sessionRig(undefined, { token: word })
    service.usually(busy(503))
    for (let client = 0; client < 20; client++) {
      const { session, eventsOf } = realm()
      await session.signIn(service.issue())
      clock.advance(hour - 300_000)
      for (let attempt = 0; attempt < 8; attempt++) {
        // The token is good for five more minutes: an attempt ahead of expiry is made once and not waited for.
        await session.getAccessToken({ minValidMs: hour })
        const waitMs = eventsOf('refresh_failed')[attempt]?.waitMs ?? Number.NaN
        const capMs = Math.min(500 * 2 ** attempt, 30_000)
        expect(waitMs).toBeGreaterThanOrEqual(capMs / 2)
        expect(waitMs).toBeLessThanOrEqual(capMs)
        clock.advance(waitMs)
      }
    }
  })
})

describe('one schedule', () => {
  test('a new sign-in starts with a clean schedule', async () => {
    const { service, session } = await expired()
    service.answer(busy(503, '300'))
    expect(await codeOf(session.getAccessToken())).toBe('temporarily_unavailable')
    await session.signIn(service.issue())
    expect(service.familyOf(await session.getAccessToken({ forceRefresh: true }))).toBe(2)
  })

  const outages: readonly (readonly [string, Answer])[] = [
    ['unreachable', 'unreachable'],
    ['answering 503', busy(503)],
    ['losing every answer', 'lose'],
    ['not answering', 'hang'],
  ]

  /** In each tenth of a second. */
  const callsAtOnce = 2

  test.each(outages)(`ten minutes of ${2 * callsAtOnce} calls a second against a service %s`, async (_, answer) => {
    const { time, service, session, eventsOf } = await expired()
    service.usually(answer)
    const startMs = time.nowMs()
    const wrong: unknown[] = []
    let settled = 0
    let calls = 0
    const call = (): void => {
      calls += 1
      codeOf(session.getAccessToken()).then((code) => {
        settled += 1
        if (code !== 'temporarily_unavailable' && code !== 'timeout') wrong.push(code)
      }, wrong.push)
    }
    while (time.nowMs() - startMs < 600_000) {
      for (let n = 0; n < callsAtOnce; n++) call()
      await time.tick(500)
    }
    expect(calls).toBe(1_200 * callsAtOnce)
    expect(service.sent.length).toBeLessThanOrEqual(60)
    await time.pass(12_000)
    expect(settled).toBe(calls)
    expect(wrong).toEqual([])
    service.usually('ok')
    const backMs = time.nowMs()
    while (typeof (await time.until(codeOf(session.getAccessToken()))) === 'string') {
      expect(time.nowMs() - backMs).toBeLessThan(30_000)
      await time.tick(100)
    }
    expect(eventsOf('session_ended')).toEqual([])
  })
})
