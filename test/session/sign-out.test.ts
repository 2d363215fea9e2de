import { describe, expect, test } from 'vitest'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { twoRealms } from '../support/two-realms.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

const hour = 3_600_000

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
