import { memoryStorage, type Tokens } from 'agent-auth'
import { describe, expect, test, vi } from 'vitest'
import { secret } from '../support/canary.ts'
import { testClock } from '../support/clock.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

const hour = 3_600_000

test('listeners are called after the call that found the change, so that one may be added behind it', async () => {
  const { session } = sessionRig().realm()
  const seen: unknown[] = []
  const ready = session.ready()
  session.subscribe(() => void seen.push(session.state.status))
  expect(seen).toEqual([])
  await ready
  expect(seen).toEqual(['signed-out'])
})

describe('tokens', () => {
  test('the default store is memory: nothing of the platform is touched', async () => {
    const touched: string[] = []
    const trap = (name: string): object =>
      new Proxy(
        {},
        {
          get: (_, member) => {
            touched.push(`${name}.${String(member)}`)
            return undefined
          },
          set: (_, member) => {
            touched.push(`${name}.${String(member)}=`)
            return true
          },
        },
      )
    for (const name of ['localStorage', 'sessionStorage', 'indexedDB', 'caches', 'document', 'cookieStore'])
      vi.stubGlobal(name, trap(name))
    try {
      const { clock, service, realm } = sessionRig()
      const { session } = realm()
      await session.signIn(service.issue())
      clock.advance(hour)
      await session.getAccessToken()
      await session.signOut()
      expect(service.sent).toHaveLength(1)
    } finally {
      vi.unstubAllGlobals()
    }
    expect(touched).toEqual([])
  })

  test('sessions are told apart by key, client and service over one storage', async () => {
    const storage = memoryStorage()
    const { service, realm } = sessionRig()
    const tokens = service.issue()
    await realm({ storage }).session.signIn(tokens)
    expect(await codeOf(realm({ storage, key: 'other' }).session.getAccessToken())).toBe('login_required')
    expect(await codeOf(realm({ storage, clientId: 'other' }).session.getAccessToken())).toBe('login_required')
    // A key cannot be spelt so that it reads as another client's.
    expect(await codeOf(realm({ storage, clientId: 'app:default', key: '' }).session.getAccessToken())).toBe(
      'login_required',
    )
    expect(await realm({ storage }).session.getAccessToken()).toBe(tokens.accessToken)
  })

  test('signIn refuses what is not a Tokens value and keeps what it has', async () => {
    const { service, realm } = sessionRig()
    const { session } = realm()
    const tokens = service.issue()
    await session.signIn(tokens)
    const bad = [
      { ...service.issue(), accessToken: 'two words' },
      { ...service.issue(), accessToken: '' },
      { ...service.issue(), obtainedAtMs: Number.NaN },
    ]
    for (const value of bad) expect(await codeOf(session.signIn(value))).toBe('response_invalid')
    expect(await codeOf(session.signIn({} as Tokens))).toBe('response_invalid')
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
  })

  test('without a refresh token expiry means one event, a typed error per call and no request', async () => {
    const { clock, service, realm } = sessionRig()
    const { session, eventsOf, told } = realm()
    const { accessToken, obtainedAtMs, expiresAtMs = 0 } = service.issue()
    await session.signIn({ accessToken, obtainedAtMs, expiresAtMs })
    clock.advance(hour - 1)
    expect(await session.getAccessToken()).toBe(accessToken)
    clock.advance(1)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(told).toEqual(['signed-in', 'signed-out expired'])
    const codes = new Set(await Promise.all(Array.from({ length: 100 }, () => codeOf(session.getAccessToken()))))
    expect([...codes]).toEqual(['login_required'])
    expect(eventsOf('login_required')).toHaveLength(1)
    expect(told).toEqual(['signed-in', 'signed-out expired'])
    expect(service.sent).toHaveLength(0)
  })

  test('without a refresh token a refused token ends in login_required, and the token stays usable', async () => {
    const { service, realm } = sessionRig()
    const { session, events } = realm()
    const { accessToken, obtainedAtMs, expiresAtMs = 0 } = service.issue()
    await session.signIn({ accessToken, obtainedAtMs, expiresAtMs })
    expect(await codeOf(session.getAccessToken({ rejected: accessToken }))).toBe('login_required')
    expect(await codeOf(session.getAccessToken({ forceRefresh: true }))).toBe('login_required')
    expect(await session.getAccessToken()).toBe(accessToken)
    expect(service.sent).toHaveLength(0)
    expect(events).toEqual([])
  })

  test('what expired by a clock that is ahead stays in the store, for those whose clock is right', async () => {
    const { clock, service, realm } = sessionRig()
    const { handle } = sharedRecords()
    const { accessToken, obtainedAtMs, expiresAtMs = 0 } = service.issue()
    const right = realm({ storage: handle() })
    await right.session.signIn({ accessToken, obtainedAtMs, expiresAtMs })
    const ahead = realm({
      storage: handle({ step: async () => {} }),
      options: { clock: testClock(clock.wallMs() + 2 * hour) },
    })
    await ahead.session.ready()
    for (let calls = 0; calls < 3; calls++) expect(await codeOf(ahead.session.getAccessToken())).toBe('login_required')
    await flush()
    await right.session.resume()
    expect(await right.session.getAccessToken()).toBe(accessToken)
  })
})

describe('waiting', () => {
  test('nine of ten waiters abort, the first included: the tenth gets the token of the one refresh', async () => {
    const { clock, service, realm } = sessionRig()
    const { session } = realm()
    await session.signIn(service.issue())
    clock.advance(hour)
    const release = service.hold()
    const stops = Array.from({ length: 10 }, () => new AbortController())
    const calls = stops.map(({ signal }) => codeOf(session.getAccessToken({ signal })))
    await flush()
    for (const stop of stops.slice(0, 9)) stop.abort()
    expect(await Promise.all(calls.slice(0, 9))).toEqual(Array(9).fill('aborted'))
    release()
    expect(await calls[9]).toEqual({ resolved: await session.getAccessToken() })
    expect(service.history.filter(({ event }) => event === 'aborted')).toEqual([])
    expect(service.sent).toHaveLength(1)
  })

  test('all waiters abort: the refresh goes on and its tokens are stored', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const { session } = realm({ storage: records.handle() })
    const tokens = service.issue()
    await session.signIn(tokens)
    clock.advance(hour)
    const release = service.hold()
    const stop = new AbortController()
    const calls = Array.from({ length: 10 }, () => codeOf(session.getAccessToken({ signal: stop.signal })))
    await flush()
    stop.abort()
    expect(new Set(await Promise.all(calls))).toEqual(new Set(['aborted']))
    expect(records.record()).toMatchObject({ refreshToken: tokens.refreshToken })
    release()
    await flush()
    expect(records.record()).toMatchObject({ rev: 2 })
    expect(await session.getAccessToken()).toBe(records.record()?.accessToken)
    expect(service.sent).toHaveLength(1)
  })

  test('a signal that fired before is honoured before anything is sent', async () => {
    const { clock, service, realm } = sessionRig()
    const { session } = realm()
    await session.signIn(service.issue())
    clock.advance(hour)
    expect(await codeOf(session.getAccessToken({ signal: AbortSignal.abort(secret('reason')) }))).toBe('aborted')
    expect(service.sent).toHaveLength(0)
  })

  test('an abort ends the wait between two attempts, and the tokens are kept', async () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    const { session } = realm()
    await session.signIn(service.issue())
    await time.pass(hour)
    service.answer(() => new Response(null, { status: 503, headers: { 'retry-after': '5' } }))
    const stop = new AbortController()
    const call = codeOf(session.getAccessToken({ signal: stop.signal }))
    await time.pass(1_000)
    stop.abort()
    expect(await call).toBe('aborted')
    expect(time.pendingTimers).toBe(0)
    await time.pass(5_000)
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
    expect(service.sent).toHaveLength(2)
  })
})

describe('what an app sees', () => {
  test('state and events follow each transition once, with its reason', async () => {
    const { clock, service, realm } = sessionRig()
    const { session, events, told, eventsOf } = realm()
    expect(session.state).toEqual({ status: 'loading' })
    expect(await session.ready()).toEqual({ status: 'signed-out' })
    const tokens = service.issue()
    await session.signIn(tokens)
    expect(session.state).toEqual({
      status: 'signed-in',
      sessionRef: expect.any(String),
      expiresAtMs: tokens.expiresAtMs,
    })
    clock.advance(hour)
    await session.getAccessToken()
    expect(session.state).toEqual({
      status: 'signed-in',
      sessionRef: expect.any(String),
      expiresAtMs: clock.wallMs() + hour,
    })
    await session.signOut()
    expect(session.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
    const second = service.issue()
    await session.signIn(second)
    service.revoke(service.familyOf(second.accessToken))
    clock.advance(hour)
    expect(await codeOf(session.getAccessToken())).toBe('session_ended')
    expect(session.state).toEqual({ status: 'signed-out', reason: 'refused' })
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(told).toEqual([
      'signed-out',
      'signed-in',
      'signed-in',
      'signed-out signed_out',
      'signed-in',
      'signed-out refused',
    ])
    expect(eventsOf('session_ended').map(({ reason }) => reason)).toEqual(['signed_out', 'refused'])
    expect(events.filter(({ type }) => type === 'storage_degraded')).toEqual([])
  })

  test('state is one object until something changes, and no listener is told twice', async () => {
    const { service, realm } = sessionRig()
    const { session, told } = realm()
    await session.signIn(service.issue())
    const { state } = session
    for (let call = 0; call < 10; call++) await session.getAccessToken()
    await session.ready()
    expect(session.state).toBe(state)
    expect(told).toEqual(['signed-in'])
  })

  test('a listener that throws, leaves or comes during the round disturbs no other', async () => {
    const { service, realm } = sessionRig()
    const { session } = realm()
    const heard: string[] = []
    const leave = session.subscribe(() => {
      heard.push('first')
      leave()
      throw new Error('A listener failed.')
    })
    session.subscribe(() => void heard.push('second'))
    await session.signIn(service.issue())
    await session.signOut()
    expect(heard).toEqual(['first', 'second', 'second'])
  })

  test('one function that is subscribed twice is called twice, and each subscription ends by itself', async () => {
    const { service, realm } = sessionRig()
    const { session } = realm()
    let calls = 0
    const count = (): void => void calls++
    const leave = session.subscribe(count)
    session.subscribe(count)
    await session.signIn(service.issue())
    expect(calls).toBe(2)
    leave()
    await session.signOut()
    expect(calls).toBe(3)
  })

  test('an onEvent hook that throws does not end the session', async () => {
    const { clock, service, realm } = sessionRig()
    const onEvent = (): void => {
      throw new Error('A hook failed.')
    }
    const { session } = realm({ options: { onEvent } })
    await session.signIn(service.issue())
    clock.advance(hour)
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
  })

  test('a call inside the first signed-in event gets the token, and listeners run outside the lock', async () => {
    const { service, realm } = sessionRig()
    const { session } = realm({ storage: sharedRecords().handle() })
    const inside: Promise<string>[] = []
    session.subscribe(() => {
      if (session.state.status === 'signed-in')
        inside.push(session.getAccessToken({ forceRefresh: inside.length === 0 }))
    })
    await session.signIn(service.issue())
    const tokens = await Promise.all(inside)
    expect(service.sent).toHaveLength(1)
    expect(tokens[0]).toBe(await session.getAccessToken())
  })
})
