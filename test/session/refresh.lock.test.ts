import type { TokenStorage } from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { secret } from '../support/canary.ts'
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
    let release = (): void => {}
    holdLock(
      () =>
        new Promise((resolve) => {
          release = resolve
        }),
    )
    const failure = session.getAccessToken().catch((reason: unknown) => reason)
    expect(await time.until(failure)).toMatchObject({ code: 'lock_timeout', retryable: true })
    release()
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
    expect(service.sent).toHaveLength(1)
  })

  test('a waiter that gives up does not use tokens that were stored and have expired meanwhile', async () => {
    const { time, service, session, holdLock, honest, records } = await expired()
    const newer = service.issue({ expiresAtMs: time.clock.wallMs() + 15_000 })
    holdLock(async () => {
      const [key = ''] = records.items.keys()
      await honest.setItem(key, JSON.stringify({ ...records.record(), rev: 2, ...newer }))
      await never()
    })
    expect(await time.until(codeOf(session.getAccessToken()))).toBe('lock_timeout')
    expect(session.state.status).toBe('signed-in')
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

  test('a storage that runs the task after its waiter gave up refreshes nothing', async () => {
    let late: (() => Promise<unknown>) | undefined
    const { time, service, session } = await expired((honest) => ({
      ...honest,
      withLock: (_name, task) => {
        late = task
        return never()
      },
    }))
    expect(await time.until(codeOf(session.getAccessToken()))).toBe('lock_timeout')
    await late?.()
    await flush()
    expect(service.sent).toHaveLength(0)
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

describe('tokens that were taken over while a refresh of the earlier ones waits for the lock', () => {
  /** A refresh of the first tokens waits for the lock while its holder stores newer ones of this age, which the session reads. */
  async function takenOver({ ageMs = 0 } = {}) {
    let locks = 0
    const rig = await expired((honest) => ({
      ...honest,
      withLock: (name, task, options) => {
        locks += 1
        return honest.withLock?.(name, task, options) ?? never()
      },
    }))
    const { session, holdLock, service, records } = rig
    let release = (): void => {}
    holdLock(
      () =>
        new Promise((resolve) => {
          release = resolve
        }),
    )
    const first = session.getAccessToken()
    await flush()
    const { obtainedAtMs, expiresAtMs = 0, ...newer } = service.issue()
    const times = { obtainedAtMs: obtainedAtMs - ageMs, expiresAtMs: expiresAtMs - ageMs }
    records.put(JSON.stringify({ ...records.record(), rev: 2, ...newer, ...times }))
    await session.resume()
    return { ...rig, newer, first, release: () => release(), locks: () => locks }
  }

  test('are refreshed for each call that asks for it, by one more request', async () => {
    const { service, session, newer, first, release } = await takenOver()
    const calls = Array.from({ length: 3 }, () => session.getAccessToken({ forceRefresh: true }))
    await flush()
    release()
    const tokens = new Set(await Promise.all(calls))
    expect(tokens.size).toBe(1)
    expect(tokens).not.toContain(newer.accessToken)
    expect(service.sent).toEqual([newer.refreshToken])
    expect([newer.accessToken, ...tokens]).toContain(await first)
  })

  test('are not refreshed twice if that refresh has already sent their refresh token', async () => {
    const { service, session, records, newer, first, release, locks } = await takenOver({ ageMs: hour })
    const second = session.getAccessToken()
    await flush()
    release()
    expect(await second).toBe(await first)
    expect(await second).toBe(records.record()?.accessToken)
    expect(locks()).toBe(1)
    expect(service.sent).toEqual([newer.refreshToken])
  })

  test('leave the caller free to give up its wait', async () => {
    const { service, session, newer, first, release } = await takenOver()
    const giveUp = new AbortController()
    const second = codeOf(session.getAccessToken({ forceRefresh: true, signal: giveUp.signal }))
    await flush()
    giveUp.abort()
    expect(await second).toBe('aborted')
    release()
    expect(await first).toBe(newer.accessToken)
    expect(service.sent).toHaveLength(0)
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

  test('is left when both writes of a refresh of unsaved tokens never end, after at most 10 s', async () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    const records = sharedRecords()
    let write = async (): Promise<void> => {}
    const storage = records.handle({ step: (operation) => (operation === 'setItem' ? write() : Promise.resolve()) })
    const { session, eventsOf } = realm({ storage })
    await session.signIn(service.issue())
    await time.pass(hour)
    write = () => Promise.reject(new Error('full'))
    await session.getAccessToken()
    expect(eventsOf('storage_degraded')).toHaveLength(1)
    await time.pass(hour)
    let writes = 0
    write = () => {
      writes += 1
      return never()
    }
    const call = codeOf(session.getAccessToken())
    await flush()
    const startMs = time.nowMs()
    const [name = ''] = records.items.keys()
    const next = storage.withLock?.(name, async () => time.nowMs())
    expect((await time.until(next ?? never())) - startMs).toBe(10_000)
    expect({ writes, sentCount: service.sent.length }).toEqual({ writes: 2, sentCount: 2 })
    expect(await time.until(call)).toEqual({ resolved: expect.any(String) })
  })

  test.each(['getItem', 'setItem', 'token request'])('is left at once when %s fails', async (what) => {
    let failing = false
    const { time, service, session, records } = await expired((honest) => ({
      ...honest,
      getItem: (key) => (failing && what === 'getItem' ? Promise.reject(new Error()) : honest.getItem(key)),
      setItem: (key, value) =>
        failing && what === 'setItem' ? Promise.reject(new Error()) : honest.setItem(key, value),
    }))
    failing = true
    service.usually(what === 'token request' ? 'unreachable' : 'ok')
    await codeOf(session.getAccessToken())
    const [name = ''] = records.items.keys()
    expect(await time.until(Promise.resolve(records.handle().withLock?.(name, async () => 'had')))).toBe('had')
    expect(time.pendingTimers).toBe(0)
  })

  test('holds the lock for the round trip and the save only: listeners and callers run outside', async () => {
    let inside = 0
    const { service, session, records } = await expired((honest) => ({
      ...honest,
      withLock: (name, task, options) =>
        honest.withLock?.(
          name,
          async () => {
            inside += 1
            try {
              return await task()
            } finally {
              inside -= 1
            }
          },
          options,
        ) ?? never(),
    }))
    const seen: number[] = []
    session.subscribe(() => void seen.push(inside))
    service.usually('ok')
    await session.getAccessToken().then(() => seen.push(inside))
    await session.signOut()
    expect(seen).toEqual([0, 0, 0])
    expect(records.items.size).toBe(0)
  })

  test('a 401 for the new token while its save still lasts waits for the same refresh', async () => {
    const { service, session, tokens } = await expired()
    const release = service.hold()
    const first = session.getAccessToken()
    await flush()
    const second = session.getAccessToken({ rejected: tokens.accessToken })
    release()
    expect(await second).toBe(await first)
    expect(service.sent).toHaveLength(1)
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

  test('one whose release fails: the work counts', async () => {
    const { service, session, records } = await expired((honest) => ({
      ...honest,
      withLock: async (_name, task) => {
        await task()
        throw new Error('The connection was lost.')
      },
    }))
    expect(await session.getAccessToken()).toBe(records.record()?.accessToken)
    expect(service.sent).toHaveLength(1)
  })
})
