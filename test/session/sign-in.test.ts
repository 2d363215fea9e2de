import { memoryStorage, type TokenStorage } from 'agent-auth'
import { describe, expect, it } from 'vitest'
import { deferred } from '../../src/internal/timeouts.ts'
import { faulty } from '../support/faulty-rig.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { twoRealms } from '../support/two-realms.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

const name = 'agent-auth:https%3A%2F%2Fauth.example.com:app:default'

/** A session whose writes wait until `land` lets them go. */
function slowWrites() {
  const rig = sessionRig()
  const records = sharedRecords()
  const writes: (() => void)[] = []
  const step = async (operation: string): Promise<void> => {
    if (operation === 'setItem') await new Promise<void>((resolve) => void writes.push(resolve))
  }
  const land = (): void => {
    for (const go of writes.splice(0)) go()
  }
  return { ...rig, records, writes, land, ...rig.realm({ storage: records.handle({ step }) }) }
}

describe('a sign-in that cannot be saved', () => {
  it.each(['throws', 'rejects'] as const)('rejects, and the user is signed out: the write %s', async (mode) => {
    const { service, session, records, failing, eventsOf, told } = faulty(mode)
    await session.signIn(service.issue())
    failing.add('setItem')
    expect(await codeOf(session.signIn(service.issue()))).toBe('storage_failed')
    expect(session.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
    expect(told).toEqual(['signed-in', 'loading', 'signed-out signed_out'])
    expect(eventsOf('storage_degraded')).toMatchObject([{ reason: 'write_failed', cause: { code: 'storage_failed' } }])
    // Nor does the user before come back, here or at the next start.
    expect(records.items.size).toBe(0)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
  })

  it('rejects with lock_timeout if the lock is not free in time, and the user before does not come back', async () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    const records = sharedRecords()
    const { session } = realm({ storage: records.handle() })
    await session.signIn(service.issue())
    await time.pass(1_000)
    void records.handle().withLock?.(name, () => new Promise(() => {}))
    expect(await time.until(codeOf(session.signIn(service.issue())))).toBe('lock_timeout')
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
  })

  it('succeeds if the write that was reported as failed took effect', async () => {
    const { service, realm } = sessionRig()
    const records = sharedRecords()
    const handle = records.handle()
    const setItem: typeof handle.setItem = async (key, value) => {
      await handle.setItem(key, value)
      throw new Error('Command timed out')
    }
    const { session } = realm({ storage: { ...handle, setItem } })
    const tokens = service.issue()
    await session.signIn(tokens)
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
  })
})

describe('during a sign-in', () => {
  it('calls wait for it, and no call gets the token of the user before', async () => {
    const { service, session, writes, land } = slowWrites()
    const first = session.signIn(service.issue())
    await flush()
    land()
    await first
    const before = codeOf(session.getAccessToken({ forceRefresh: true }))
    const tokens = service.issue()
    const signedIn = session.signIn(tokens)
    expect(session.state).toEqual({ status: 'loading' })
    const call = session.getAccessToken()
    const ready = session.ready()
    await flush()
    expect(writes).toHaveLength(1)
    land()
    expect(await call).toBe(tokens.accessToken)
    expect(await ready).toMatchObject({ status: 'signed-in' })
    expect(await before).toBe('session_changed')
    await signedIn
  })

  it('a caller that aborts does not wait', async () => {
    const { service, session, land } = slowWrites()
    const signedIn = session.signIn(service.issue())
    const controller = new AbortController()
    const call = codeOf(session.getAccessToken({ signal: controller.signal }))
    await flush()
    controller.abort()
    expect(await call).toBe('aborted')
    land()
    await signedIn
  })

  it.each(['signs out here', 'signed out elsewhere'])('a user who %s stays signed out', async (where) => {
    const { service, session, records, land } = slowWrites()
    const signedIn = session.signIn(service.issue())
    await flush()
    const out = where === 'signs out here' ? session.signOut() : session.resume({ after: 'sign-out' })
    expect(session.state.status).toBe('signed-out')
    land()
    await Promise.all([signedIn, out])
    await flush()
    expect(records.items.size).toBe(0)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
  })
})

describe('two sign-ins at once', () => {
  it('the later one takes effect, and both resolve', async () => {
    const { service, records, here } = twoRealms()
    const tokens = service.issue()
    await Promise.all([here.session.signIn(service.issue()), here.session.signIn(tokens)])
    expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
    expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
  })

  it('both reject if the later one cannot be saved', async () => {
    const { service, session, failing } = faulty('rejects')
    failing.add('setItem')
    const codes = await Promise.all([codeOf(session.signIn(service.issue())), codeOf(session.signIn(service.issue()))])
    expect(codes).toEqual(['storage_failed', 'storage_failed'])
  })

  it('an earlier one whose write was in progress settles as the later one does', async () => {
    const { service, realm } = sessionRig()
    const inner = memoryStorage()
    const first = deferred<void>()
    const writes = [first.promise]
    const storage: TokenStorage = { ...inner, setItem: () => writes.shift() ?? Promise.reject(new Error('full')) }
    const { session } = realm({ storage })
    const earlier = codeOf(session.signIn(service.issue()))
    await flush()
    expect(writes).toEqual([])
    const later = codeOf(session.signIn(service.issue()))
    first.resolve()
    expect(await Promise.all([earlier, later])).toEqual(['storage_failed', 'storage_failed'])
  })

  it('in two pages whose clocks differ, the later one is in both pages', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const slow = { wallMs: () => clock.wallMs() - 60_000, monotonicMs: () => clock.monotonicMs() }
    const here = realm({ storage: records.handle() })
    const there = realm({ storage: records.handle(), options: { clock: slow } })
    await here.session.signIn(service.issue())
    const tokens = service.issue()
    await there.session.signIn(tokens)
    clock.advance(1_000)
    for (const { session } of [there, here]) {
      await codeOf(session.getAccessToken())
      expect(await session.getAccessToken()).toBe(tokens.accessToken)
    }
  })
})

it('a sign-out elsewhere does not concern a sign-in that was saved: what is stored decides', async () => {
  const { here, there, service } = twoRealms()
  await here.session.signIn(service.issue())
  await there.session.ready()
  await there.session.resume({ after: 'sign-out' })
  expect(there.session.state.status).toBe('signed-in')
  await here.session.signOut()
  await there.session.resume({ after: 'sign-out' })
  expect(there.session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
})

it.each([
  ['newer', '{"v":2}'],
  ['foreign', JSON.stringify({ v: 1, owner: 'another name', id: 'a', rev: 1, accessToken: 'at', obtainedAtMs: 1 })],
])('a sign-in that finds a %s record reports it, leaves it, and lives in memory', async (reason, text) => {
  const { realm, service, clock } = sessionRig()
  const records = sharedRecords()
  records.items.set(name, text)
  const { session, eventsOf } = realm({ storage: records.handle() })
  const tokens = service.issue()
  await session.signIn(tokens)
  expect(eventsOf('storage_degraded')).toEqual([{ type: 'storage_degraded', reason }])
  expect(await session.getAccessToken()).toBe(tokens.accessToken)
  clock.advance(3_600_000)
  expect(service.familyOf(await session.getAccessToken())).toBe(1)
  await flush()
  expect(records.items.get(name)).toBe(text)
})
