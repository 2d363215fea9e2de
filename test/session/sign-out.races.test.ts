import { describe, expect, test } from 'vitest'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { twoRealms } from '../support/two-realms.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

const hour = 3_600_000

describe('sign-out in another realm', () => {
  test('reaches the others at their next call, with one event', async () => {
    const { clock, here, there, service } = twoRealms()
    await here.session.signIn(service.issue())
    await there.session.ready()
    await here.session.signOut()
    clock.advance(1_000)
    expect(await codeOf(there.session.getAccessToken())).toBe('login_required')
    expect(await codeOf(there.session.getAccessToken())).toBe('login_required')
    expect(there.eventsOf('session_ended')).toEqual([{ type: 'session_ended', reason: 'store_lost' }])
    expect(service.sent).toHaveLength(0)
  })

  test('the same where the lock is not acquired within 20 s: removed once more without it', async () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    const records = sharedRecords()
    const { withLock, ...handle } = records.handle()
    const landings: (() => void)[] = []
    let isSlow = false
    const there = realm({
      storage: {
        ...handle,
        async setItem(key, value) {
          if (isSlow) await new Promise<void>((resolve) => void landings.push(resolve))
          await handle.setItem(key, value)
        },
        // The work ends, but the lock is never released.
        withLock: async (name, task, options) =>
          withLock?.(name, () => task().then(() => new Promise<never>(() => {})), options) as Promise<never>,
      },
    })
    const here = realm({ storage: records.handle() })
    await here.session.signIn(service.issue())
    await there.session.ready()
    await time.pass(hour)
    isSlow = true
    const call = codeOf(there.session.getAccessToken())
    await time.pass(0)
    const out = codeOf(here.session.signOut())
    await time.pass(1_000)
    expect(records.items.size).toBe(0)
    landings[0]?.()
    await time.pass(1_000)
    expect(records.items.size).toBe(1)
    expect(await time.until(out)).toEqual({ resolved: undefined })
    expect(records.items.size).toBe(0)
    await time.until(call)
  })

  test('what another realm signs in afterwards is followed, not removed', async () => {
    const { clock, here, there, service, records } = twoRealms()
    await here.session.signIn(service.issue())
    await here.session.signOut()
    const next = service.issue()
    await there.session.signIn(next)
    clock.advance(1_000)
    expect(await here.session.getAccessToken()).toBe(next.accessToken)
    expect(records.record()).toMatchObject({ accessToken: next.accessToken })
  })
})

/** A refresh whose write waits until it is let go, after the session gave up on it. Everything else happened at once. */
async function lateWrite() {
  const rig = virtualTime()
  const { service, realm } = sessionRig(rig.clock)
  const records = sharedRecords()
  const waiting: (() => void)[] = []
  const state = { holding: false }
  const step = (operation: string): Promise<void> =>
    state.holding && operation === 'setItem'
      ? new Promise((resolve) => void waiting.push(() => resolve()))
      : Promise.resolve()
  const here = realm({ storage: records.handle({ step }) })
  await here.session.signIn(service.issue())
  await rig.pass(hour)
  state.holding = true
  const call = codeOf(here.session.getAccessToken())
  await rig.pass(6_000)
  expect(waiting).toHaveLength(1)
  await call
  return { time: rig, service, records, waiting, state, here }
}

describe('a write of a refresh that lands long after', () => {
  test('a sign-out: the record goes at the next call, and no later start finds it', async () => {
    const { records, waiting, here } = await lateWrite()
    await here.session.signOut()
    expect(records.items.size).toBe(0)
    waiting[0]?.()
    await flush()
    expect(records.items.size).toBe(1)
    expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
    await flush()
    expect(records.items.size).toBe(0)
    expect(here.session.state).toEqual({ status: 'signed-out', reason: 'signed_out' })
  })

  test('a new sign-in: that one goes on and is written again', async () => {
    const { time, service, records, waiting, state, here } = await lateWrite()
    state.holding = false
    const next = service.issue()
    await here.session.signIn(next)
    waiting[0]?.()
    await flush()
    expect(records.record()?.accessToken).not.toBe(next.accessToken)
    for (let calls = 0; calls < 3; calls++) {
      await time.pass(6_000)
      expect(await here.session.getAccessToken()).toBe(next.accessToken)
    }
    await flush()
    expect(records.record()?.accessToken).toBe(next.accessToken)
    expect(here.eventsOf('session_ended')).toEqual([])
  })
})

describe('until a sign-out has removed what it found', () => {
  test('a record this object had not read is not handed out, at once or later', async () => {
    const { service, realm } = sessionRig()
    const records = sharedRecords()
    await realm({ storage: records.handle() }).session.signIn(service.issue())
    const { session, told } = realm({ storage: records.handle() })
    const out = session.signOut()
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    await out
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(told).toEqual(['signed-out signed_out'])
    expect(records.items.size).toBe(0)
  })

  test('nor one that was read before its removal and arrives after it', async () => {
    const { service, realm } = sessionRig()
    const records = sharedRecords()
    await realm({ storage: records.handle() }).session.signIn(service.issue())
    const inner = records.handle()
    const reads: (() => void)[] = []
    let first = true
    const { session, told } = realm({
      storage: {
        ...inner,
        async getItem(key) {
          // What the sign-out reads fails, so that it removes a record it knows nothing of.
          if (first) {
            first = false
            throw new Error('disk')
          }
          const item = await inner.getItem(key)
          await new Promise<void>((resolve) => void reads.push(resolve))
          return item
        },
      },
    })
    const out = session.signOut()
    const call = codeOf(session.getAccessToken())
    await flush()
    expect(records.items.size).toBe(0)
    for (let turn = 0; turn < 3; turn++) {
      for (const go of reads.splice(0)) go()
      await flush()
    }
    await out
    expect(await call).toBe('login_required')
    expect(told).toEqual(['signed-out signed_out'])
  })

  test('a record that could not be removed is looked at again by the next call', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    await realm({ storage: records.handle() }).session.signIn(service.issue())
    let fails = true
    const { session } = realm({
      storage: records.handle({
        fault(operation) {
          if (fails && operation === 'removeItem') throw new Error('disk')
        },
      }),
    })
    const out = codeOf(session.signOut())
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(await out).toBe('storage_failed')
    fails = false
    clock.advance(5_000)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    await flush()
    expect(records.items.size).toBe(0)
  })
})
