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

  test('during a refresh: the store stays empty and the late tokens are dropped', async () => {
    const { clock, here, there, service, records } = twoRealms()
    await here.session.signIn(service.issue())
    await there.session.ready()
    clock.advance(hour)
    const release = service.hold()
    const call = codeOf(here.session.getAccessToken())
    await flush()
    const out = there.session.signOut()
    await flush()
    expect(records.items.size).toBe(0)
    release()
    expect(await call).toBe('login_required')
    await out
    expect(records.items.size).toBe(0)
    expect(here.session.state).toEqual({ status: 'signed-out', reason: 'store_lost' })
  })

  test.each([
    ['only a later call here reads that', 'signed-in'],
    ['a resume here reads that during the write', 'signed-out'],
  ])(
    'the record is removed again if a sign-out elsewhere comes between the last read and the write of a refresh, and %s',
    async (_, after) => {
      const { clock, service, realm } = sessionRig()
      const records = sharedRecords()
      let pause: (() => void) | undefined
      let pausing = false
      const step = (operation: string): Promise<void> =>
        pausing && operation === 'setItem'
          ? new Promise((resolve) => {
              pause = resolve
            })
          : Promise.resolve()
      const here = realm({ storage: records.handle({ step }) })
      const there = realm({ storage: records.handle() })
      await here.session.signIn(service.issue())
      await there.session.ready()
      clock.advance(hour)
      pausing = true
      const call = codeOf(here.session.getAccessToken())
      await flush()
      await flush()
      expect(pause).toBeDefined()
      const out = there.session.signOut()
      await flush()
      expect(records.items.size).toBe(0)
      if (after === 'signed-out') await here.session.resume()
      pause?.()
      await out
      await call
      expect({ status: here.session.state.status, stored: records.items.size }).toEqual({ status: after, stored: 0 })
      clock.advance(1_000)
      expect(await codeOf(here.session.getAccessToken())).toBe('login_required')
      expect(await codeOf(there.session.getAccessToken())).toBe('login_required')
    },
  )

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

  test('a sign-in whose write is under way is not ended by the sign-out of the session before it', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const writes: (() => void)[] = []
    const step = (operation: string): Promise<void> =>
      operation === 'setItem' ? new Promise((resolve) => void writes.push(() => resolve())) : Promise.resolve()
    const here = realm({ storage: records.handle() })
    const there = realm({ storage: records.handle({ step }) })
    await here.session.signIn(service.issue())
    const next = service.issue()
    const signedIn = there.session.signIn(next)
    await flush()
    expect(writes).toHaveLength(1)
    const out = here.session.signOut()
    await flush()
    await codeOf(there.session.getAccessToken())
    writes[0]?.()
    await Promise.all([signedIn, out])
    clock.advance(1_000)
    expect(records.record()).toMatchObject({ accessToken: next.accessToken })
    expect(await there.session.getAccessToken()).toBe(next.accessToken)
  })

  test('a read that fails once behind the lock does not make a sign-out remove the sign-in that came meanwhile', async () => {
    const { clock, service, realm } = sessionRig()
    const records = sharedRecords()
    const writes: (() => void)[] = []
    let isBroken = false
    const slow = async (operation: string): Promise<void> => {
      if (operation === 'setItem') await new Promise<void>((resolve) => void writes.push(resolve))
    }
    const broken = async (operation: string): Promise<void> => {
      if (!isBroken || operation !== 'getItem') return
      isBroken = false
      throw new Error('no answer')
    }
    const here = realm({ storage: records.handle({ step: broken }) })
    const there = realm({ storage: records.handle({ step: slow }) })
    await here.session.signIn(service.issue())
    const next = service.issue()
    const signedIn = there.session.signIn(next)
    await flush()
    const out = here.session.signOut()
    await flush()
    expect(records.items.size).toBe(0)
    isBroken = true
    writes[0]?.()
    await Promise.all([signedIn, out])
    expect(records.record()).toMatchObject({ accessToken: next.accessToken })
    clock.advance(1_000)
    expect(await there.session.getAccessToken()).toBe(next.accessToken)
  })

  test('a look during a sign-out takes up nothing that outlasts it', async () => {
    const { service, realm } = sessionRig()
    const records = sharedRecords()
    const steps: (() => void)[] = []
    const step = (): Promise<void> => new Promise((resolve) => void steps.push(() => resolve()))
    const here = realm({ storage: records.handle({ step }) })
    await realm({ storage: records.handle() }).session.signIn(service.issue())
    const out = here.session.signOut()
    const call = codeOf(here.session.getAccessToken())
    await flush()
    expect(steps).toHaveLength(2)
    const settled = async <T>(work: Promise<T>): Promise<T> => {
      let going = true
      const stop = (): void => {
        going = false
      }
      work.then(stop, stop)
      while (going) {
        for (const go of steps) go()
        await flush()
      }
      return work
    }
    steps[1]?.()
    await flush()
    records.items.clear()
    await settled(Promise.all([out, call]))
    expect(here.session.state.status).toBe('signed-out')
    expect(await settled(codeOf(here.session.getAccessToken()))).toBe('login_required')
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

describe('in the same realm, at every point of a refresh', () => {
  // Each number is how many storage and network steps are let through before the sign-out or sign-in comes.
  const points = Array.from({ length: 10 }, (_, index) => index)

  const stepped = async () => {
    const { clock, service, realm } = sessionRig(undefined, { travel: () => gate() })
    const records = sharedRecords()
    let open = true
    const waiting: (() => void)[] = []
    const gate = (): Promise<void> =>
      open ? Promise.resolve() : new Promise((resolve) => void waiting.push(() => resolve()))
    const here = realm({ storage: records.handle({ step: () => gate() }) })
    const first = service.issue()
    await here.session.signIn(first)
    clock.advance(hour)
    open = false
    const call = codeOf(here.session.getAccessToken())
    const let1 = async (): Promise<void> => {
      await flush()
      waiting.shift()?.()
      await flush()
    }
    const letAll = async (): Promise<void> => {
      open = true
      for (const go of waiting.splice(0)) go()
      await flush()
    }
    return { service, records, first, call, let1, letAll, clock, ...here }
  }

  test.each(points)('sign-out after %i steps: nothing comes back', async (steps) => {
    const { service, records, call, let1, letAll, session, clock } = await stepped()
    for (let step = 0; step < steps; step++) await let1()
    const stored: number[] = []
    const out = session.signOut()
    await letAll()
    await out
    records.onChange(() => void stored.push(records.items.size))
    const answer = await call
    if (typeof answer === 'string') expect(answer).toBe('login_required')
    await flush()
    expect(records.items.size).toBe(0)
    expect(stored.filter((size) => size > 0)).toEqual([])
    clock.advance(1_000)
    expect(await codeOf(session.getAccessToken())).toBe('login_required')
    expect(service.sent.length).toBeLessThanOrEqual(1)
  })

  test.each(points)('sign-in as another after %i steps: only the new session remains', async (steps) => {
    const { service, records, call, let1, letAll, session, clock } = await stepped()
    for (let step = 0; step < steps; step++) await let1()
    const second = service.issue()
    const signedIn = session.signIn(second)
    await letAll()
    await signedIn
    const answer = await call
    if (typeof answer === 'string') expect(answer).toBe('session_changed')
    else expect(service.familyOf((answer as { resolved: string }).resolved)).toBe(1)
    await flush()
    expect(records.record()).toMatchObject({ accessToken: second.accessToken, rev: 1 })
    clock.advance(1_000)
    expect(await session.getAccessToken()).toBe(second.accessToken)
  })

  test('another realm signs in during a refresh: the new person’s record is never overwritten', async () => {
    const { clock, here, there, service, records } = twoRealms()
    const families: number[] = []
    await here.session.signIn(service.issue())
    clock.advance(hour)
    const release = service.hold()
    const call = codeOf(here.session.getAccessToken())
    await flush()
    records.onChange(() => void families.push(service.familyOf(String(records.record()?.refreshToken))))
    const second = service.issue()
    const signedIn = there.session.signIn(second)
    await flush()
    release()
    await signedIn
    await call
    await flush()
    // The refresh was first and may still commit; after the sign-in nothing of it follows.
    expect(families.at(-1)).toBe(2)
    expect(families.indexOf(1, families.indexOf(2))).toBe(-1)
    clock.advance(1_000)
    await codeOf(here.session.getAccessToken())
    expect(await here.session.getAccessToken()).toBe(second.accessToken)
    expect(await there.session.getAccessToken()).toBe(second.accessToken)
  })
})

/** Writes wait, when `holding`, until they are let go; everything else happens at once. */
function slowWrites() {
  const rig = virtualTime()
  const { service, realm } = sessionRig(rig.clock)
  const records = sharedRecords()
  const waiting: (() => void)[] = []
  const state = { holding: false }
  const step = (operation: string): Promise<void> =>
    state.holding && operation === 'setItem'
      ? new Promise((resolve) => void waiting.push(() => resolve()))
      : Promise.resolve()
  return { time: rig, service, records, waiting, state, here: realm({ storage: records.handle({ step }) }) }
}

describe('a write of a refresh that lands long after', () => {
  test('a sign-out: the record goes at the next call, and no later start finds it', async () => {
    const { time, service, records, waiting, state, here } = slowWrites()
    await here.session.signIn(service.issue())
    await time.pass(hour)
    state.holding = true
    const call = codeOf(here.session.getAccessToken())
    await time.pass(6_000)
    expect(waiting).toHaveLength(1)
    await call
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
    const { time, service, records, waiting, state, here } = slowWrites()
    await here.session.signIn(service.issue())
    await time.pass(hour)
    state.holding = true
    const call = codeOf(here.session.getAccessToken())
    await time.pass(6_000)
    await call
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

test('a late first save of the sign-in before is written over by the current sign-in each time it lands', async () => {
  const { time, service, records, waiting, state, here } = slowWrites()
  state.holding = true
  const before = here.session.signIn(service.issue())
  await time.pass(6_000)
  await before
  state.holding = false
  const next = service.issue()
  await here.session.signIn(next)
  waiting[0]?.()
  await flush()
  const [late = ''] = records.items.values()
  expect(records.record()?.accessToken).not.toBe(next.accessToken)
  for (let landing = 0; landing < 2; landing++) {
    records.put(late)
    await time.pass(6_000)
    expect(await here.session.getAccessToken()).toBe(next.accessToken)
    await flush()
    expect(records.record()?.accessToken).toBe(next.accessToken)
  }
})

test('a sign-in does not wait for a sign-out that waits for a lock of another process', async () => {
  const time = virtualTime()
  const { service, realm } = sessionRig(time.clock)
  const records = sharedRecords()
  const { session } = realm({ storage: records.handle() })
  await session.signIn(service.issue())
  let unlock = (): void => {}
  const [name = ''] = records.items.keys()
  const locked = records.handle().withLock?.(
    name,
    () =>
      new Promise<void>((resolve) => {
        unlock = resolve
      }),
  )
  const out = codeOf(session.signOut())
  await flush()
  const next = service.issue()
  const signedIn = codeOf(session.signIn(next))
  await flush()
  expect(session.state.status).toBe('signed-in')
  expect(await session.getAccessToken()).toBe(next.accessToken)
  unlock()
  await Promise.all([locked, out, signedIn])
  expect(records.record()?.accessToken).toBe(next.accessToken)
  expect(session.state.status).toBe('signed-in')
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
