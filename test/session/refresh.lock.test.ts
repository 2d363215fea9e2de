import type { TokenStorage } from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { secret } from '../support/canary.ts'
import { gate } from '../support/gate.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

const hour = 3_600_000

/** A session with an expired token; `storage` makes its storage from a handle that locks as it should. */
async function expired(storage: (honest: TokenStorage) => TokenStorage = (honest) => honest) {
  const time = virtualTime()
  const { service, realm } = sessionRig(time.clock)
  const records = sharedRecords()
  const honest = records.handle()
  const tokens = service.issue()
  await realm({ storage: honest }).session.signIn(tokens)
  await time.pass(hour)
  const here = realm({ storage: storage(honest) })
  await here.session.ready()
  const holdLock = (task: () => Promise<void>): void => {
    const [name] = records.items.keys()
    void honest.withLock?.(name ?? '', task)
  }
  return { time, service, realm, records, tokens, honest, holdLock, ...here }
}

const never = (): Promise<never> => new Promise(() => {})

describe('a holder that never lets go', () => {
  test('waiters give up after 20 s with lock_timeout, and the session lives', async () => {
    const { time, service, session, holdLock, eventsOf } = await expired()
    holdLock(never)
    const startMs = time.nowMs()
    const calls = Array.from({ length: 10 }, () => codeOf(session.getAccessToken()))
    await time.pass(19_999)
    let settled = false
    void calls[0]?.then(() => {
      settled = true
    })
    await flush()
    expect(settled).toBe(false)
    expect(new Set(await time.until(Promise.all(calls)))).toEqual(new Set(['lock_timeout']))
    expect(time.nowMs() - startMs).toBe(20_000)
    expect(service.sent).toHaveLength(0)
    expect(session.state.status).toBe('signed-in')
    expect(eventsOf('session_ended')).toEqual([])
  })

  test('the error says that the same call may succeed later, and then it does', async () => {
    const { time, service, session, holdLock } = await expired()
    const held = gate()
    holdLock(() => held.passed)
    const failure = session.getAccessToken().catch((reason: unknown) => reason)
    expect(await time.until(failure)).toMatchObject({ code: 'lock_timeout', retryable: true })
    held.open()
    await flush()
    expect(service.sent).toHaveLength(0)
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
    expect(service.sent).toHaveLength(1)
  })

  test('while the access token is good, a locked refresh fails no call', async () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    const records = sharedRecords()
    const storage = records.handle()
    const { session } = realm({ storage })
    const tokens = service.issue()
    await session.signIn(tokens)
    await time.pass(hour - 50_000)
    const [name = ''] = records.items.keys()
    void storage.withLock?.(name, never)
    expect(await time.until(session.getAccessToken())).toBe(tokens.accessToken)
  })

  test('sign-out does not wait for it to take effect', async () => {
    const { time, session, holdLock, records } = await expired()
    holdLock(never)
    const done = session.signOut()
    expect(session.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
    await flush()
    expect(records.items.size).toBe(0)
    await time.until(done)
  })
})

describe('the critical section', () => {
  const slow: readonly (readonly ['getItem' | 'setItem' | 'token request', number])[] = [
    ['token request', 10_000],
    ['getItem', 5_000],
    ['setItem', 5_000],
  ]

  test.each(slow)('is left when %s never ends, after at most %i ms', async (what, limitMs) => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    const records = sharedRecords()
    const tokens = service.issue()
    await realm({ storage: records.handle() }).session.signIn(tokens)
    let stuck = false
    const storage = records.handle({ step: (operation) => (stuck && operation === what ? never() : Promise.resolve()) })
    const here = realm({ storage })
    await here.session.ready()
    await time.pass(hour - 30_000)
    stuck = true
    if (what === 'token request') service.usually('hang')
    const call = codeOf(here.session.getAccessToken({ forceRefresh: true }))
    await time.pass(what === 'getItem' ? 5_000 : 0)
    const startMs = time.nowMs()
    let hadMs = Number.NaN
    const [name = ''] = records.items.keys()
    const next = storage.withLock?.(name, async () => {
      hadMs = time.nowMs()
    })
    await time.until(next ?? never())
    expect(hadMs - startMs).toBeLessThanOrEqual(limitMs)
    await time.until(call)
    expect(here.session.state.status).toBe('signed-in')
  })
})

describe('a lock that fails', () => {
  test.each([0, 3_000])(
    'one that is stolen %i ms before the answer: one request, one result, nothing unhandled',
    async (ms) => {
      const unhandled: unknown[] = []
      const note = (reason: unknown): void => void unhandled.push(reason)
      process.on('unhandledRejection', note)
      let steal = (): void => {}
      const { time, service, session, records, eventsOf } = await expired((honest) => ({
        ...honest,
        withLock: (_name, task) =>
          new Promise((resolve, reject) => {
            steal = () => reject(new DOMException(secret('lock name'), 'AbortError'))
            task().then(resolve, reject)
          }),
      }))
      const release = service.hold()
      const call = codeOf(session.getAccessToken())
      await flush()
      steal()
      await time.pass(ms)
      release()
      const answer = await time.until(call)
      await time.pass(1_000)
      process.off('unhandledRejection', note)
      expect(unhandled).toEqual([])
      if (typeof answer === 'string') expect(answer).toBe('storage_failed')
      expect(records.record()).toMatchObject({ rev: 2 })
      expect(service.familyOf(await session.getAccessToken())).toBe(1)
      expect(eventsOf('session_ended')).toEqual([])
      expect(service.sent).toHaveLength(1)
    },
  )

  test('one that cannot be had at all: storage_failed, not the platform’s error', async () => {
    const reason = secret('lock error')
    const fail = [
      () => {
        throw new DOMException(reason, 'SecurityError')
      },
      () => Promise.reject(new Error(reason)),
      async () => undefined as never,
    ]
    for (const withLock of fail) {
      const { time, service, session, eventsOf } = await expired((honest) => ({ ...honest, withLock }))
      expect(await time.until(codeOf(session.getAccessToken()))).toBe('storage_failed')
      expect(session.state.status).toBe('signed-in')
      expect(eventsOf('session_ended')).toEqual([])
      expect(service.sent).toHaveLength(0)
    }
  })

  test('one whose release never ends: the caller gets the token all the same', async () => {
    const { time, session, records } = await expired((honest) => ({
      ...honest,
      withLock: async (_name, task) => {
        await task()
        return never()
      },
    }))
    const call = session.getAccessToken()
    await time.pass(20_000)
    const answer = await Promise.race([call, flush().then(() => 'still waiting')])
    expect(answer).toBe(records.record()?.accessToken)
  })
})
