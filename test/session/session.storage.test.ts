import { describe, expect, test } from 'vitest'
import { assertNoLeak } from '../support/canary.ts'
import { faulty } from '../support/faulty-rig.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

const hour = 3_600_000

describe.each(['throws', 'rejects'] as const)('a write that %s', (mode) => {
  test('after a rotation: the new tokens serve, one event, and the write is repeated', async () => {
    const { clock, service, session, records, failing, counts, eventsOf, storage, realm } = faulty(mode)
    await session.signIn(service.issue())
    clock.advance(hour)
    failing.add('setItem')
    const token = await session.getAccessToken()
    expect(records.record()).toMatchObject({ rev: 1 })
    for (let call = 0; call < 50; call++) expect(await session.getAccessToken()).toBe(token)
    expect(service.sent).toHaveLength(1)
    expect(eventsOf('storage_degraded')).toMatchObject([{ type: 'storage_degraded', reason: 'write_failed' }])
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

  test('a degradation that returns after a good write is told again', async () => {
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
})

test('a refused session whose record cannot be removed reports that, and does not use the record again', async () => {
  const { service, session, records, failing, eventsOf } = faulty()
  await session.signIn(service.issue())
  service.revoke(1)
  failing.add('removeItem')
  expect(await codeOf(session.getAccessToken({ forceRefresh: true }))).toBe('session_ended')
  expect(eventsOf('storage_degraded')).toMatchObject([{ reason: 'remove_failed', cause: { code: 'storage_failed' } }])
  expect(records.items.size).toBe(1)
  expect(await codeOf(session.getAccessToken())).toBe('login_required')
})

describe.each(['throws', 'rejects'] as const)('a read that %s', (mode) => {
  test('with nothing in memory: typed, retryable, never taken for signed out, nothing written', async () => {
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

  test('in a running session: it uses its token while that is valid, and refreshes when a read succeeds', async () => {
    const { clock, service, session, records, failing, eventsOf } = faulty(mode)
    const tokens = service.issue()
    await session.signIn(tokens)
    failing.add('getItem')
    for (let call = 0; call < 20; call++) {
      clock.advance(60_000)
      expect(await session.getAccessToken()).toBe(tokens.accessToken)
    }
    clock.advance(hour)
    expect(await codeOf(session.getAccessToken())).toBe('storage_failed')
    expect(service.sent).toHaveLength(0)
    expect(eventsOf('storage_degraded')).toMatchObject([{ type: 'storage_degraded', reason: 'read_failed' }])
    expect(session.state.status).toBe('signed-in')
    failing.clear()
    clock.advance(500)
    const token = await session.getAccessToken()
    expect(service.familyOf(token)).toBe(1)
    expect(records.record()).toMatchObject({ accessToken: token, rev: 2 })
    expect(service.sent).toHaveLength(1)
    expect(eventsOf('session_ended')).toEqual([])
  })

  test('in a running session: the next read comes a second later', async () => {
    const { clock, service, session, failing, counts } = faulty(mode)
    await session.signIn(service.issue())
    failing.add('getItem')
    const before = counts.getItem
    const reads: number[] = []
    for (const ms of [0, 0, 999, 1]) {
      clock.advance(ms)
      await session.getAccessToken()
      reads.push(counts.getItem - before)
    }
    expect(reads).toEqual([1, 1, 1, 2])
  })

  test('a storage that fails at everything under a signed-in user: the token serves while it is valid, and it is told, not flooded', async () => {
    const { clock, service, session, failing, eventsOf } = faulty(mode)
    const { accessToken } = service.issue()
    await session.signIn({ accessToken, obtainedAtMs: clock.wallMs() })
    for (const operation of ['getItem', 'setItem', 'removeItem']) failing.add(operation)
    for (let call = 0; call < 100; call++) {
      clock.advance(60_000)
      expect(await session.getAccessToken()).toBe(accessToken)
      await flush()
    }
    expect(eventsOf('storage_degraded')).toHaveLength(1)
    expect(await codeOf(session.signOut())).toBe('storage_failed')
    expect(session.state.status).toBe('signed-out')
  })

  test('the storage’s own words reach no caller', async () => {
    const { service, session, failing, events } = faulty(mode)
    for (const operation of ['getItem', 'setItem', 'removeItem']) failing.add(operation)
    const failure = await session.getAccessToken().catch((reason: unknown) => reason)
    const second = await session.signIn(service.issue()).catch((reason: unknown) => reason)
    const third = await session.signOut().catch((reason: unknown) => reason)
    for (const value of [failure, second, third, ...events]) assertNoLeak(value)
    expect(failure).toMatchObject({ code: 'storage_failed' })
    expect(failure).not.toHaveProperty('cause')
  })
})

describe('a storage that hangs', () => {
  test('is given up after 5 s, and no promise is left', async () => {
    const time = virtualTime()
    const { realm, service } = sessionRig(time.clock)
    const { session } = realm({ storage: sharedRecords().handle({ step: () => new Promise(() => {}) }) })
    const startMs = time.nowMs()
    expect(await time.until(codeOf(session.ready()))).toBe('storage_failed')
    expect(time.nowMs() - startMs).toBe(5_000)
    expect(await time.until(codeOf(session.signIn(service.issue())))).toBe('storage_failed')
    expect(await time.until(codeOf(session.getAccessToken()))).toBe('storage_failed')
    expect(time.pendingTimers).toBe(0)
  })
})
