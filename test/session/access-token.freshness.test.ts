import { SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { registerSecret } from '../support/canary.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { json, word } from '../support/token-service.ts'
import { virtualTime } from '../support/virtual-time.ts'

const second = 1_000
const minute = 60_000
const hour = 3_600_000
const day = 86_400_000

describe('when a token is renewed', () => {
  // Life in seconds, and the age in seconds from which and by which the refresh of a token in use begins.
  const lives: readonly (readonly [lifeS: number, fromS: number, byS: number])[] = [
    [1, 0.89, 0.9],
    [60, 53.4, 54],
    [3_600, 3_534, 3_540],
  ]

  test.each(lives)('life %i s: ahead by a tenth or a minute and up to a tenth more', async (lifeS, fromS, byS) => {
    const ages: number[] = []
    for (let sample = 0; sample < 20; sample++) {
      const { clock, service, realm } = sessionRig(undefined, { lifeS, token: word })
      const { session } = realm()
      const tokens = service.issue()
      await session.signIn(tokens)
      clock.advance(fromS * second - 1)
      expect(await session.getAccessToken()).toBe(tokens.accessToken)
      let ageMs = fromS * second - 1
      const stepMs = Math.max(1, ((byS - fromS) * second) / 20)
      while ((await session.getAccessToken()) === tokens.accessToken) {
        clock.advance(stepMs)
        ageMs += stepMs
        expect(ageMs).toBeLessThanOrEqual(byS * second + stepMs)
      }
      expect(service.sent).toHaveLength(1)
      ages.push(Math.round(ageMs / stepMs))
    }
    // Tokens issued together are not renewed together.
    if (lifeS >= 60) expect(new Set(ages).size).toBeGreaterThan(3)
  })

  test.each([
    [2, 1_000],
    [60, 5_000],
  ])('life %i s: a token younger than %i ms is never renewed ahead, for any request', async (lifeS, youngMs) => {
    const { clock, service, realm } = sessionRig(undefined, { lifeS })
    const { session } = realm()
    await session.signIn(service.issue())
    clock.advance(youngMs - 1)
    await session.getAccessToken({ minValidMs: day })
    expect(service.sent).toHaveLength(0)
    clock.advance(1)
    await session.getAccessToken({ minValidMs: day })
    expect(service.sent).toHaveLength(1)
    await session.getAccessToken({ minValidMs: day })
    expect(service.sent).toHaveLength(1)
  })

  test('a token whose life is over when it is granted is not used', async () => {
    const { clock, service, realm } = sessionRig()
    const { session } = realm()
    const tokens = service.issue()
    await session.signIn({ ...tokens, expiresAtMs: clock.wallMs() - hour })
    expect(await session.getAccessToken()).not.toBe(tokens.accessToken)
    expect(service.sent).toHaveLength(1)
  })

  test('with an unknown life nothing is renewed for a day; a 401 renews once', async () => {
    const { clock, service, realm } = sessionRig(undefined, { lifeS: null })
    const { session } = realm()
    const tokens = service.issue()
    await session.signIn(tokens)
    expect(session.state).toEqual({ status: 'signed-in', sessionRef: expect.any(String) })
    for (let quarter = 0; quarter < 96; quarter++) {
      clock.advance(15 * minute)
      expect(await session.getAccessToken({ minValidMs: hour })).toBe(tokens.accessToken)
    }
    expect(service.sent).toHaveLength(0)
    const newer = await session.getAccessToken({ rejected: tokens.accessToken })
    expect(service.sent).toHaveLength(1)
    clock.advance(day)
    expect(await session.getAccessToken()).toBe(newer)
    expect(service.sent).toHaveLength(1)
  })

  test('a night asleep: one refresh on waking, and every call waits for it', async () => {
    const { clock, service, realm } = sessionRig()
    const { session } = realm()
    await session.signIn(service.issue())
    clock.advance(8 * hour)
    const answers = await Promise.all(Array.from({ length: 50 }, () => session.getAccessToken()))
    expect(new Set(answers).size).toBe(1)
    expect(service.familyOf(answers[0])).toBe(1)
    expect(service.sent).toHaveLength(1)
  })

  test('a machine whose monotonic clock stands still in its sleep is told by the 401', async () => {
    const { clock, service, realm } = sessionRig()
    const { session } = realm()
    await session.signIn(service.issue())
    const token = await session.getAccessToken({ forceRefresh: true })
    clock.jumpWall(8 * hour)
    expect(await session.getAccessToken({ rejected: token })).not.toBe(token)
    expect(service.sent).toHaveLength(2)
  })
})

describe('timers', () => {
  test.each([25 * day, 30 * day, 400 * day, 1e12])('a life of %i ms: no refresh in a day, no timer', async (lifeMs) => {
    const time = virtualTime()
    const delaysMs: number[] = []
    // A spy would be restored once more by a later `vi.restoreAllMocks()`, to the timer of this test.
    globalThis.setTimeout = new Proxy(globalThis.setTimeout, {
      apply(set, self, args: Parameters<typeof setTimeout>) {
        delaysMs.push(args[1] ?? 0)
        return Reflect.apply(set, self, args)
      },
    })
    const { service, realm } = sessionRig(time.clock, { lifeS: lifeMs / 1_000 })
    const { session, eventsOf } = realm({ storage: sharedRecords().handle() })
    await session.signIn(service.issue())
    const token = await time.until(session.getAccessToken({ forceRefresh: true }))
    for (let quarter = 0; quarter < 96; quarter++) {
      await time.pass(15 * minute)
      expect(await session.getAccessToken()).toBe(token)
    }
    expect(service.sent).toHaveLength(1)
    expect(eventsOf('session_ended')).toEqual([])
    expect(time.pendingTimers).toBe(0)
    expect(delaysMs).not.toEqual([])
    expect(Math.max(...delaysMs)).toBeLessThanOrEqual(2_147_483_647)
  })

  test('a session at rest has no timer, so a program that uses it ends by itself', async () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    const { session } = realm({ storage: sharedRecords().handle({ step: () => Promise.resolve() }) })
    const at: number[] = []
    await time.until(session.ready())
    at.push(time.pendingTimers)
    await time.until(session.signIn(service.issue()))
    at.push(time.pendingTimers)
    await time.until(session.getAccessToken())
    at.push(time.pendingTimers)
    await time.pass(2 * hour)
    at.push(time.pendingTimers)
    await time.until(session.getAccessToken())
    at.push(time.pendingTimers)
    await time.pass(2 * hour)
    service.usually('unreachable')
    await time.until(codeOf(session.getAccessToken()))
    at.push(time.pendingTimers)
    service.usually('lose')
    await time.pass(minute)
    await time.until(codeOf(session.getAccessToken()))
    at.push(time.pendingTimers)
    await time.until(session.signOut())
    at.push(time.pendingTimers)
    expect(at).toEqual(Array(8).fill(0))
  })
})

describe('the age of a new token', () => {
  test('counts from before its request, also after the longest request and a slow storage', async () => {
    const time = virtualTime()
    const wait = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms))
    let [requestMs, storageMs] = [59_000, 0]
    const travel = (what: string): Promise<void> => wait(what.startsWith('answer') ? requestMs : 0)
    const { service, realm } = sessionRig(time.clock, { lifeS: 120, travel })
    const storage = sharedRecords().handle({ step: () => wait(storageMs) })
    const { session } = realm({ storage, options: { timeoutMs: 60_000 } })
    await time.until(session.signIn(service.issue()))
    const startMs = time.nowMs()
    const refreshing = session.getAccessToken({ forceRefresh: true })
    await time.pass(10)
    storageMs = 4_900
    await time.until(refreshing)
    expect(time.nowMs() - startMs).toBeGreaterThan(68_000)
    ;[requestMs, storageMs] = [0, 0]
    service.usually('unreachable')
    await time.pass(startMs + 121_000 - time.nowMs())
    expect(await time.until(codeOf(session.getAccessToken()))).toBe('temporarily_unavailable')
  })
})

describe('a wall clock that is wrong', () => {
  const skews = [5 * minute, hour, day, 3 * day].flatMap((ms) => [ms, -ms])

  test.each(skews)('off by %i ms all along: two refreshes in two lives', async (skewMs) => {
    const { clock, service, realm } = sessionRig()
    clock.jumpWall(skewMs)
    const { session, eventsOf } = realm({ storage: sharedRecords().handle() })
    await session.signIn(service.issue())
    for (let minutes = 0; minutes < 120; minutes++) {
      clock.advance(minute)
      await session.getAccessToken()
    }
    expect(service.sent).toHaveLength(2)
    expect(eventsOf('session_ended')).toEqual([])
  })

  test.each(skews)('that jumps by %i ms while running: neither a refresh nor an end', async (skewMs) => {
    const { clock, service, realm } = sessionRig()
    const { session } = realm({ storage: sharedRecords().handle() })
    const tokens = service.issue()
    await session.signIn(tokens)
    clock.advance(minute)
    clock.jumpWall(skewMs)
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    clock.advance(50 * minute)
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    expect(service.sent).toHaveLength(0)
    clock.advance(8.5 * minute)
    await session.getAccessToken()
    clock.advance(minute)
    await session.getAccessToken()
    expect(service.sent).toHaveLength(1)
  })

  test('a jump during the refresh itself makes the new token neither spent nor immortal', async () => {
    for (const skewMs of skews) {
      const { clock, service, realm } = sessionRig()
      const { session } = realm({ storage: sharedRecords().handle() })
      await session.signIn(service.issue())
      clock.advance(hour)
      service.answer(() => {
        clock.jumpWall(skewMs)
        return json(200, { access_token: word('access'), refresh_token: word('refresh'), expires_in: 3_600 })
      })
      const token = await session.getAccessToken()
      clock.advance(50 * minute)
      expect(await session.getAccessToken()).toBe(token)
      expect(service.sent).toHaveLength(1)
      // A jump ahead counts as the longest refresh: a request of a minute and two operations of five seconds.
      service.usually('unreachable')
      clock.advance(10 * minute - (skewMs > 0 ? 70 * second : 0) - 1)
      expect(await session.getAccessToken()).toBe(token)
      expect(service.sent).toHaveLength(2)
      clock.advance(1)
      expect(await codeOf(session.getAccessToken())).toBe('temporarily_unavailable')
    }
  })

  test.each(skews)('a JWT of a service whose clock is %i ms off lives as long as it says', async (skewMs) => {
    const { clock, service, realm } = sessionRig(undefined, { lifeS: null })
    const { session } = realm()
    await session.signIn(service.issue())
    const iat = Math.floor((clock.wallMs() + skewMs) / 1_000)
    const token = await new SignJWT({ iat, exp: iat + 600 })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(new Uint8Array(32))
    registerSecret('access token', token)
    service.answer(() => json(200, { access_token: token, refresh_token: word('refresh') }))
    expect(await session.getAccessToken({ forceRefresh: true })).toBe(token)
    clock.advance(8 * minute)
    expect(await session.getAccessToken()).toBe(token)
    expect(service.sent).toHaveLength(1)
    clock.advance(2 * minute)
    await codeOf(session.getAccessToken())
    expect(service.sent).toHaveLength(2)
  })
})

describe('a 401 after the wall clock was put back', () => {
  test.each([hour, day, 30 * day])(
    'tokens refreshed while it was %i ms ahead are refreshed by a new process',
    async (aheadMs) => {
      const { clock, service, realm } = sessionRig()
      const records = sharedRecords()
      clock.jumpWall(aheadMs)
      const before = realm({ storage: records.handle() })
      await before.session.signIn(service.issue())
      clock.advance(hour)
      await before.session.getAccessToken()
      expect(service.sent).toHaveLength(1)
      clock.jumpWall(-aheadMs)
      clock.advance(2 * minute)
      const { session } = realm({ storage: records.handle() })
      const token = await session.getAccessToken()
      expect(await session.getAccessToken({ rejected: token })).not.toBe(token)
      expect(service.sent).toHaveLength(2)
    },
  )

  test('the clocks of two machines may differ by seconds: what the other has just refreshed is not refreshed again', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const ahead = { wallMs: () => clock.wallMs() + 5_000, monotonicMs: () => clock.monotonicMs() }
    const there = realm({ storage: records.handle(), options: { clock: ahead } })
    await there.session.signIn(service.issue())
    await there.session.getAccessToken({ forceRefresh: true })
    const { session } = realm({ storage: records.handle() })
    const token = await session.getAccessToken()
    expect(await session.getAccessToken({ rejected: token })).toBe(token)
    expect(service.sent).toHaveLength(1)
    clock.advance(30_000)
    expect(await session.getAccessToken({ rejected: token })).not.toBe(token)
  })
})
