import { describe, expect, test } from 'vitest'
import { assertNoLeak, secret } from './support/canary.ts'
import { codeOf, sessionRig } from './support/session-rig.ts'
import { sharedRecords } from './support/shared-records.ts'
import { flush, virtualTime } from './support/virtual-time.ts'

const hour = 3_600_000

/** A storage whose operations fail while they are in `failing`. */
function faulty(mode: 'throws' | 'rejects' = 'throws') {
  const rig = sessionRig()
  const records = sharedRecords()
  const failing = new Set<string>()
  const counts = { getItem: 0, setItem: 0, removeItem: 0 }
  const text = secret('text of a storage error')
  const storage = records.handle({
    ...(mode === 'rejects' && { step: () => Promise.resolve() }),
    fault(operation) {
      counts[operation] += 1
      if (failing.has(operation)) throw new DOMException(text, 'QuotaExceededError')
    },
  })
  return { ...rig, records, failing, counts, storage, ...rig.realm({ storage }) }
}

describe.each(['throws', 'rejects'] as const)('a write that %s', (mode) => {
  test('C-065 F-20 F070 after a rotation: the new tokens serve, one event, and the write is repeated', async () => {
    const { clock, service, session, records, failing, counts, eventsOf, storage, realm } = faulty(mode)
    await session.signIn(service.issue())
    clock.advance(hour)
    failing.add('setItem')
    const token = await session.getAccessToken()
    expect(records.record()).toMatchObject({ rev: 1 })
    for (let call = 0; call < 50; call++) expect(await session.getAccessToken()).toBe(token)
    expect(service.sent).toHaveLength(1)
    expect(eventsOf('storage_degraded')).toEqual([{ type: 'storage_degraded', reason: 'write_failed' }])
    // Not more often than every five seconds.
    expect(counts.setItem).toBeLessThanOrEqual(3)
    clock.advance(60_000)
    await session.getAccessToken()
    await flush()
    failing.clear()
    clock.advance(5_000)
    await session.getAccessToken()
    await flush()
    expect(records.record()).toMatchObject({ accessToken: token, rev: 2 })
    expect(await realm({ storage }).session.getAccessToken()).toBe(token)
    expect(service.sent).toHaveLength(1)
  })

  test('C-065 F070 while it lasts, refresh follows refresh with the newest token, and nobody is logged out', async () => {
    const { clock, service, session, records, failing, eventsOf } = faulty(mode)
    await session.signIn(service.issue())
    failing.add('setItem')
    for (let round = 0; round < 5; round++) {
      clock.advance(hour)
      expect(service.familyOf(await session.getAccessToken())).toBe(1)
    }
    expect(new Set(service.sent).size).toBe(5)
    expect(service.history.filter(({ event }) => event === 'refused')).toEqual([])
    expect(eventsOf('session_ended')).toEqual([])
    failing.clear()
    clock.advance(10_000)
    const token = await session.getAccessToken()
    await flush()
    expect(records.record()).toMatchObject({ accessToken: token, rev: 6 })
  })

  test('C-065 F070 at sign-in: the session works from memory and is stored as soon as that goes', async () => {
    const { clock, service, session, records, failing, eventsOf, told } = faulty(mode)
    failing.add('setItem')
    const tokens = service.issue()
    await session.signIn(tokens)
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    expect(records.items.size).toBe(0)
    expect(eventsOf('storage_degraded')).toEqual([{ type: 'storage_degraded', reason: 'write_failed' }])
    failing.clear()
    clock.advance(5_000)
    await session.getAccessToken()
    await flush()
    expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
    expect(told.filter((status) => status.startsWith('signed-out'))).toEqual([])
  })

  test('C-065 a degradation that returns after a good write is told again', async () => {
    const { clock, service, session, failing, eventsOf } = faulty(mode)
    await session.signIn(service.issue())
    for (let round = 0; round < 2; round++) {
      failing.add('setItem')
      await session.getAccessToken({ forceRefresh: true })
      failing.clear()
      clock.advance(6_000)
      await session.getAccessToken()
      await flush()
    }
    expect(eventsOf('storage_degraded')).toHaveLength(2)
  })

  test('C-065 a sign-in elsewhere wins over an owed write', async () => {
    const { clock, service, session, failing, realm, records } = faulty(mode)
    await session.signIn(service.issue())
    failing.add('setItem')
    await session.getAccessToken({ forceRefresh: true })
    failing.clear()
    const next = service.issue()
    await realm({ storage: records.handle() }).session.signIn(next)
    clock.advance(6_000)
    expect(await codeOf(session.getAccessToken())).toBe('session_changed')
    expect(await session.getAccessToken()).toBe(next.accessToken)
    await flush()
    expect(records.record()).toMatchObject({ accessToken: next.accessToken, rev: 1 })
  })

  test('C-065 a sign-out elsewhere wins over an owed write', async () => {
    const { clock, service, session, failing, realm, records } = faulty(mode)
    await session.signIn(service.issue())
    failing.add('setItem')
    await session.getAccessToken({ forceRefresh: true })
    failing.clear()
    await realm({ storage: records.handle() }).session.signOut()
    clock.advance(6_000)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    await flush()
    expect(records.items.size).toBe(0)
  })
})

describe.each(['throws', 'rejects'] as const)('a read that %s', (mode) => {
  test('F-21 C-057 with nothing in memory: typed, retryable, never taken for signed out, nothing written', async () => {
    const { service, session, records, failing, counts, storage, realm, clock } = faulty(mode)
    const tokens = service.issue()
    await session.signIn(tokens)
    const before = JSON.stringify(records.record())
    failing.add('getItem')
    const writes = counts.setItem + counts.removeItem
    const fresh = realm({ storage })
    await expect(fresh.session.getAccessToken()).rejects.toMatchObject({ code: 'storage_failed', retryable: true })
    expect(await codeOf(fresh.session.ready())).toBe('storage_failed')
    expect(fresh.session.state).toEqual({ status: 'loading' })
    expect(fresh.told).toEqual([])
    expect(fresh.eventsOf('session_ended')).toEqual([])
    expect(counts.setItem + counts.removeItem).toBe(writes)
    expect(JSON.stringify(records.record())).toBe(before)
    failing.clear()
    clock.advance(1)
    expect(await fresh.session.getAccessToken()).toBe(tokens.accessToken)
  })

  test('F-21 F070 in a running session: it goes on from memory, through a refresh, and is stored afterwards', async () => {
    const { clock, service, session, records, failing, eventsOf } = faulty(mode)
    await session.signIn(service.issue())
    failing.add('getItem')
    clock.advance(hour)
    const token = await session.getAccessToken()
    expect(service.familyOf(token)).toBe(1)
    for (let call = 0; call < 20; call++) expect(await session.getAccessToken()).toBe(token)
    expect(eventsOf('storage_degraded')).toEqual([{ type: 'storage_degraded', reason: 'read_failed' }])
    expect(eventsOf('session_ended')).toEqual([])
    failing.clear()
    clock.advance(6_000)
    expect(await session.getAccessToken()).toBe(token)
    await flush()
    expect(records.record()).toMatchObject({ accessToken: token, rev: 2 })
    expect(service.sent).toHaveLength(1)
  })

  test('F070 a storage that fails at everything: sign-in, calls and refresh work, and it is told, not flooded', async () => {
    const { clock, service, session, failing, eventsOf } = faulty(mode)
    for (const operation of ['getItem', 'setItem', 'removeItem']) failing.add(operation)
    await session.signIn(service.issue())
    for (let call = 0; call < 100; call++) {
      clock.advance(60_000)
      expect(service.familyOf(await session.getAccessToken())).toBe(1)
      await flush()
    }
    expect(service.sent.length).toBeGreaterThanOrEqual(1)
    expect(service.sent.length).toBeLessThanOrEqual(2)
    // Once for what cannot be read and once for what cannot be written.
    expect(eventsOf('storage_degraded').length).toBeLessThanOrEqual(2)
    expect(await codeOf(session.signOut())).toBe('storage_failed')
    expect(session.state.status).toBe('signed-out')
  })

  test('F070 the storage’s own words reach nobody', async () => {
    const { service, session, failing, events } = faulty(mode)
    for (const operation of ['getItem', 'setItem', 'removeItem']) failing.add(operation)
    const failure = await session.getAccessToken().catch((reason: unknown) => reason)
    await session.signIn(service.issue())
    const second = await session.signOut().catch((reason: unknown) => reason)
    for (const value of [failure, second, ...events]) assertNoLeak(value)
    expect(failure).toMatchObject({ code: 'storage_failed' })
    expect(failure).not.toHaveProperty('cause')
  })
})

test('F070 a storage object whose members throw when they are looked up', async () => {
  const { service, realm } = sessionRig()
  const denied = (): never => {
    throw new DOMException('The operation is insecure.', 'SecurityError')
  }
  const storage = {
    get getItem() {
      return denied()
    },
    get setItem() {
      return denied()
    },
    get removeItem() {
      return denied()
    },
  }
  const { session } = realm({ storage })
  expect(await codeOf(session.getAccessToken())).toBe('storage_failed')
  const tokens = service.issue()
  await session.signIn(tokens)
  expect(await session.getAccessToken()).toBe(tokens.accessToken)
})

describe('a storage that hangs', () => {
  test('C-072 F050 is given up after 5 s, and no promise is left', async () => {
    const time = virtualTime()
    const { realm, service } = sessionRig(time.clock)
    const { session } = realm({ storage: sharedRecords().handle({ step: () => new Promise(() => {}) }) })
    const startMs = time.nowMs()
    expect(await time.until(codeOf(session.ready()))).toBe('storage_failed')
    expect(time.nowMs() - startMs).toBe(5_000)
    const tokens = service.issue()
    await time.until(session.signIn(tokens))
    expect(await time.until(session.getAccessToken())).toBe(tokens.accessToken)
    // The write that is owed is being tried in the background.
    await time.pass(30_000)
    expect(time.pendingTimers).toBe(0)
  })
})

describe('a record that vanishes', () => {
  test('C-068 ends the session once, as store_lost, without a request or a loop', async () => {
    const { clock, service, session, records, told, eventsOf } = faulty()
    await session.signIn(service.issue())
    records.items.clear()
    for (let call = 0; call < 10; call++) expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'store_lost' }])
    expect(told).toEqual(['signed-in', 'signed-out store_lost'])
    expect(service.sent).toHaveLength(0)
    await session.signIn(service.issue())
    clock.advance(hour)
    expect(service.familyOf(await session.getAccessToken())).toBe(2)
  })

  test('C-068 is noticed although a look during the sign-in saw no record yet', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const { session } = realm({ storage: records.handle({ step: () => flush() }) })
    const tokens = service.issue()
    const signedIn = session.signIn(tokens)
    await Promise.resolve()
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    await signedIn
    records.items.clear()
    clock.advance(1_000)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
  })

  test('C-068 during a refresh: the result is dropped, and the store stays empty', async () => {
    const { clock, service, session, records } = faulty('rejects')
    await session.signIn(service.issue())
    clock.advance(hour)
    const release = service.hold()
    const call = codeOf(session.getAccessToken())
    await flush()
    records.items.clear()
    release()
    expect(await call).toBe('login_required')
    expect(records.items.size).toBe(0)
  })
})

describe('a record that cannot be used', () => {
  const start = async () => {
    const rig = faulty()
    const tokens = rig.service.issue()
    await rig.session.signIn(tokens)
    return { ...rig, tokens, text: [...rig.records.items.values()][0] ?? '' }
  }

  const corrupt: readonly (readonly [string, (text: string) => string])[] = [
    ['cut off', (text) => text.slice(0, -10)],
    ['empty', () => ''],
    ['not JSON', () => 'session'],
    ['null', () => 'null'],
    ['an array', () => '[]'],
    ['without a version', (text) => text.replace('"v":1,', '')],
    ['of version 0', (text) => text.replace('"v":1', '"v":0')],
    ['of version "1"', (text) => text.replace('"v":1', '"v":"1"')],
    ['with a broken token', (text) => text.replace(/"accessToken":"[^"]*"/, '"accessToken":"a b"')],
    ['without a time', (text) => text.replace(/"obtainedAtMs":\d+/, '"obtainedAtMs":null')],
    ['without an id', (text) => text.replace(/"id":"[^"]*",/, '')],
    ['with half a revision', (text) => text.replace('"rev":1', '"rev":1.5')],
  ]

  test.each(corrupt)(
    'C-057 F-22 F071 %s: signed out, reported without its content, removed; a login works',
    async (_, change) => {
      const { service, realm, records, text, storage } = await start()
      records.put(change(text))
      const { session, events, told } = realm({ storage })
      expect(await session.ready()).toEqual({ status: 'signed-out' })
      await flush()
      expect(events).toEqual([{ type: 'storage_degraded', reason: 'unreadable' }])
      expect(told).toEqual(['signed-out'])
      expect(records.items.size).toBe(0)
      expect(await codeOf(session.getAccessToken())).toBe('login_required')
      const next = service.issue()
      await session.signIn(next)
      expect(await session.getAccessToken()).toBe(next.accessToken)
      expect(await realm({ storage }).session.getAccessToken()).toBe(next.accessToken)
    },
  )

  test('F071 one that breaks under a running session is written anew', async () => {
    const { clock, session, tokens, records, eventsOf } = await start()
    records.put('{"v":1')
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    await flush()
    clock.advance(5_000)
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    await flush()
    expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
    expect(eventsOf('storage_degraded')).toEqual([{ type: 'storage_degraded', reason: 'unreadable' }])
    expect(eventsOf('session_ended')).toEqual([])
  })

  const alone: readonly (readonly [string, string, (text: string) => string])[] = [
    ['of a newer version', 'newer', (text) => text.replace('"v":1', '"v":2')],
    ['of a much newer version and another shape', 'newer', () => '{"v":99,"sealed":"x"}'],
    ['that belongs to another client', 'foreign', (text) => text.replace('example.com', 'example.org')],
  ]

  test.each(alone)('C-057 F-23 one %s is refused and stays byte for byte: at the start', async (_, reason, change) => {
    const { clock, service, realm, records, text, storage, counts } = await start()
    const other = change(text)
    expect(other).not.toBe(text)
    records.put(other)
    const writes = counts.setItem + counts.removeItem
    const { session, events } = realm({ storage })
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(events).toEqual([{ type: 'storage_degraded', reason }])
    const next = service.issue()
    await session.signIn(next)
    expect(await session.getAccessToken()).toBe(next.accessToken)
    clock.advance(hour)
    expect(service.familyOf(await session.getAccessToken())).toBe(2)
    clock.advance(60_000)
    await session.getAccessToken()
    await session.signOut()
    expect([...records.items.values()]).toEqual([other])
    expect(counts.setItem + counts.removeItem).toBe(writes)
  })

  test.each(alone)('C-057 F-23 one %s stays byte for byte: under a running session', async (_, reason, change) => {
    const { clock, service, session, records, text, eventsOf } = await start()
    const other = change(text)
    records.put(other)
    clock.advance(hour)
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
    clock.advance(60_000)
    await session.getAccessToken()
    await flush()
    expect([...records.items.values()]).toEqual([other])
    expect(eventsOf('storage_degraded')).toContainEqual({ type: 'storage_degraded', reason })
    expect(eventsOf('session_ended')).toEqual([])
    service.revoke(1)
    expect(await codeOf(session.getAccessToken({ forceRefresh: true }))).toBe('session_ended')
    expect([...records.items.values()]).toEqual([other])
    await session.signOut()
    expect([...records.items.values()]).toEqual([other])
  })

  test('C-057 a store that parses what it reads gives the same session', async () => {
    const { realm, records, tokens } = await start()
    const honest = records.handle()
    const parsing = {
      ...honest,
      getItem: (key: string) => {
        const text = records.items.get(key)
        return text === undefined ? null : (JSON.parse(text) as string)
      },
    }
    const { session, events } = realm({ storage: parsing })
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    expect(await session.getAccessToken({ forceRefresh: true })).toBe(records.record()?.accessToken)
    expect(events.filter(({ type }) => type === 'storage_degraded')).toEqual([])
  })

  test('C-057 the record is one JSON string with version, revision and the sign-in’s id', async () => {
    const { records, tokens } = await start()
    expect(records.items.size).toBe(1)
    expect(records.record()).toEqual({
      v: 1,
      owner: [...records.items.keys()][0],
      id: expect.any(String),
      rev: 1,
      ...tokens,
    })
  })
})
