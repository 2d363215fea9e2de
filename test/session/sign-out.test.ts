import { describe, expect, test } from 'vitest'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { twoRealms } from '../support/two-realms.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

const hour = 3_600_000

/** Starts a sign-out and returns when its first removal has ended and it waits for the lock. */
async function signedOutWhileLocked() {
  const { here, service, records } = twoRealms()
  await here.session.signIn(service.issue())
  const [name = ''] = records.items.keys()
  const another = JSON.stringify({ ...records.record(), id: 'another' })
  let unlock = (): void => {}
  const held = new Promise<void>((resolve) => {
    unlock = resolve
  })
  void records.handle().withLock?.(name, () => held)
  const out = here.session.signOut()
  await flush()
  return { here, records, name, another, out, unlock: () => unlock() }
}

describe('sign-out', () => {
  test('works offline, twice, without a request: nothing is stored and calls fail typed', async () => {
    const { service, here, records } = twoRealms()
    service.usually('unreachable')
    await here.session.signIn(service.issue())
    await here.session.signOut()
    await here.session.signOut()
    expect(records.items.size).toBe(0)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
    expect(service.sent).toHaveLength(0)
    expect(here.told).toEqual(['signed-in', 'signed-out signed_out'])
    expect(here.eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'signed_out' }])
  })

  test('is in effect before anything is awaited, and the record is gone before anything from outside', async () => {
    const { here, service, records } = twoRealms()
    await here.session.signIn(service.issue())
    const done = here.session.signOut()
    expect(here.session.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
    expect(here.told.at(-1)).toBe('signed-out signed_out')
    // Promises only: no timer, no input, no network could have come between.
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    expect(records.items.size).toBe(0)
    await done
  })

  test('empties the in-flight slot: a waiting call ends at once, and what comes back is not used', async () => {
    const { clock, here, service, records } = twoRealms()
    await here.session.signIn(service.issue())
    clock.advance(hour)
    const release = service.hold()
    const call = codeOf(here.session.getAccessToken())
    await flush()
    const atOnce = (work: Promise<unknown>): Promise<unknown> =>
      Promise.race([work, flush().then(() => 'still waiting')])
    const out = here.session.signOut()
    expect(await atOnce(call)).toBe('login_required')
    expect(await atOnce(out)).toBeUndefined()
    release()
    await flush()
    expect(records.items.size).toBe(0)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
  })

  test('leaves no timer behind, in the middle of a backoff', async () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    const { session } = realm({ storage: sharedRecords().handle() })
    await session.signIn(service.issue())
    await time.pass(hour)
    service.usually(() => new Response(null, { status: 503, headers: { 'retry-after': '9' } }))
    const call = codeOf(session.getAccessToken())
    await flush()
    await session.signOut()
    expect(await time.until(call)).toBe('login_required')
    expect(time.pendingTimers).toBe(0)
    expect(service.sent).toHaveLength(1)
  })

  test('before the store was ever read removes the record too', async () => {
    const { here, there, service, records } = twoRealms()
    await here.session.signIn(service.issue())
    expect(there.session.state.status).toBe('loading')
    await there.session.signOut()
    expect(records.items.size).toBe(0)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
  })

  test('without a signed-in user is quiet', async () => {
    const { here } = twoRealms()
    await here.session.signOut()
    expect(here.session.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
    expect(here.events).toEqual([])
  })

  test('a record that cannot be removed: the call says so, the session is over all the same', async () => {
    const { service, realm } = sessionRig()
    const records = sharedRecords()
    let failing = false
    const fault = (operation: string): void => {
      if (failing && operation === 'removeItem') throw new Error('EROFS')
    }
    const { session, eventsOf } = realm({ storage: records.handle({ fault }) })
    await session.signIn(service.issue())
    failing = true
    await expect(session.signOut()).rejects.toMatchObject({ code: 'storage_failed', retryable: true })
    expect(session.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
    expect(eventsOf('storage_degraded')).toMatchObject([{ type: 'storage_degraded', reason: 'remove_failed' }])
    // The record is still there; this session never takes it up again.
    expect(records.items.size).toBe(1)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    failing = false
    await session.signOut()
    expect(records.items.size).toBe(0)
  })

  test('one failed removal is made up for under the lock', async () => {
    const { service, realm } = sessionRig()
    const records = sharedRecords()
    let failures = 0
    const fault = (operation: string): void => {
      if (operation === 'removeItem' && failures++ === 0) throw new Error('EBUSY')
    }
    const { session } = realm({ storage: records.handle({ fault }) })
    await session.signIn(service.issue())
    await session.signOut()
    expect(records.items.size).toBe(0)
  })

  test('a removal that failed while nothing can be read is not reported as done', async () => {
    const { service, realm } = sessionRig()
    const records = sharedRecords()
    let failing = false
    let removals = 0
    const fault = (operation: string): void => {
      if (failing && (operation === 'getItem' || (operation === 'removeItem' && removals++ === 0)))
        throw new Error('EIO')
    }
    const { session } = realm({ storage: records.handle({ fault }) })
    await session.signIn(service.issue())
    failing = true
    const answer = await codeOf(session.signOut())
    expect(records.items.size).toBe(answer === 'storage_failed' ? 1 : 0)
  })

  test('removes what cannot be read', async () => {
    const { service, realm } = sessionRig()
    const records = sharedRecords()
    let failing = false
    const fault = (operation: string): void => {
      if (failing && operation === 'getItem') throw new Error('EIO')
    }
    const { session } = realm({ storage: records.handle({ fault }) })
    await session.signIn(service.issue())
    failing = true
    await session.signOut()
    expect(records.items.size).toBe(0)
  })

  test('a sign-in right after it is not taken away again', async () => {
    const { here, service, records } = twoRealms()
    await here.session.signIn(service.issue())
    const next = service.issue()
    const [, signedIn] = [here.session.signOut(), here.session.signIn(next)]
    await signedIn
    await flush()
    expect(records.record()).toMatchObject({ accessToken: next.accessToken })
    expect(await here.session.getAccessToken()).toBe(next.accessToken)
  })

  test('the write of an earlier sign-in that is still under way does not outlive the sign-out', async () => {
    const { service, realm } = sessionRig()
    const records = sharedRecords()
    const writes: (() => void)[] = []
    const step = (operation: string): Promise<void> =>
      operation === 'setItem' ? new Promise((resolve) => void writes.push(() => resolve())) : Promise.resolve()
    const { session } = realm({ storage: records.handle({ step }) })
    const first = session.signIn(service.issue())
    await flush()
    expect(writes).toHaveLength(1)
    const second = session.signIn(service.issue())
    await flush()
    const out = session.signOut()
    await flush()
    writes[0]?.()
    await Promise.allSettled([first, second, out])
    await flush()
    expect(writes).toHaveLength(1)
    expect(records.items.size).toBe(0)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
  })

  test('a sign-out right after a sign-in that still waits has the last word', async () => {
    const { here, service, records } = twoRealms()
    await here.session.signIn(service.issue())
    const { session } = here
    await Promise.allSettled([session.signOut(), session.signIn(service.issue()), session.signOut()])
    await flush()
    expect(records.items.size).toBe(0)
    expect(session.state.status).toBe('signed-out')
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
  })

  test('leaves a record that it cannot read and that came after its first removal', async () => {
    const { records, name, out, unlock } = await signedOutWhileLocked()
    records.items.set(name, '{"v":1')
    unlock()
    await out
    expect([...records.items.values()]).toEqual(['{"v":1'])
  })

  test('against storage that hangs settles within its bound and never leaves a local session', async () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    let stuck = false
    const step = (): Promise<void> => (stuck ? new Promise(() => {}) : Promise.resolve())
    const { session } = realm({ storage: sharedRecords().handle({ step }) })
    await session.signIn(service.issue())
    stuck = true
    const startMs = time.nowMs()
    const done = codeOf(session.signOut())
    expect(session.state.status).toBe('signed-out')
    expect(await time.until(done)).toBe('storage_failed')
    expect(time.nowMs() - startMs).toBeLessThanOrEqual(20_000)
    expect(time.pendingTimers).toBe(0)
  })
})
