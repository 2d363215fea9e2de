import { describe, expect, test } from 'vitest'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { json } from '../support/token-service.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

// src/session/save.ts and src/session/refresh-retries.ts: work that another sign-in or a sign-out overtakes in the same page or process.

/** A session whose storage operations wait, while `isHolding`, until they are let go. */
function held() {
  const rig = sessionRig()
  const records = sharedRecords()
  const state = { isHolding: true, isUnlockable: false, isFull: false, isUnanswered: false }
  const waiting: { readonly operation: string; go(): void }[] = []
  const handle = records.handle({
    async step(operation) {
      if (operation === 'setItem' && state.isFull) throw new Error('full')
      if (state.isHolding) await new Promise<void>((resolve) => void waiting.push({ operation, go: () => resolve() }))
    },
  })
  const withLock: typeof handle.withLock = async (name, task, options) => {
    if (state.isUnlockable) throw new Error('no connection')
    return handle.withLock?.(name, task, options) as ReturnType<typeof task>
  }
  /** A write that is not answered takes effect and is reported as failed. */
  const setItem: typeof handle.setItem = async (key, value) => {
    await handle.setItem(key, value)
    if (state.isUnanswered) throw new Error('Command timed out')
  }
  const written: unknown[] = []
  records.onChange(() => written.push(records.record()?.accessToken))
  const here = rig.realm({ storage: { ...handle, setItem, withLock } })
  /** Lets the oldest of the waiting operations go, which must be this one. */
  const letGo = async (operation: string): Promise<void> => {
    await flush()
    const [next] = waiting.splice(0, 1)
    expect(next?.operation).toBe(operation)
    next?.go()
    await flush()
  }
  const letAllGo = async (): Promise<void> => {
    state.isHolding = false
    for (const { go } of waiting.splice(0)) go()
    await flush()
  }
  return { ...rig, ...here, records, state, waiting, written, letGo, letAllGo }
}

describe('the save of a sign-in', () => {
  test('writes nothing if the user signs out while it reads the storage', async () => {
    const { session, service, waiting, written, letAllGo } = held()
    const signedIn = session.signIn(service.issue())
    await flush()
    expect(waiting.map(({ operation }) => operation)).toEqual(['getItem'])
    const out = session.signOut()
    await letAllGo()
    await Promise.all([signedIn, out])
    expect(written).toEqual([])
    expect(session.state.status).toBe('signed-out')
  })

  test('does not count as the save of the sign-in that replaced it during the write', async () => {
    const { session, service, records, waiting, letGo, letAllGo } = held()
    const first = session.signIn(service.issue())
    await letGo('getItem')
    const tokens = service.issue()
    const second = session.signIn(tokens)
    await letGo('setItem')
    await flush()
    // The first record is removed by a sign-out elsewhere before the second sign-in has read anything.
    records.items.clear()
    const resumed = session.resume()
    await flush()
    expect(waiting.map(({ operation }) => operation)).toEqual(['getItem', 'getItem'])
    waiting.pop()?.go()
    await resumed
    expect(session.state.status).toBe('signed-in')
    await letAllGo()
    await Promise.all([first, second])
    expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
  })

  test('says nothing of the sign-in that replaced it while it confirmed', async () => {
    const { session, service, realm, records, state, waiting, letAllGo } = held()
    state.isUnlockable = true
    const first = session.signIn(service.issue())
    await flush()
    state.isUnlockable = false
    const tokens = service.issue()
    const second = session.signIn(tokens)
    await flush()
    expect(waiting.map(({ operation }) => operation)).toEqual(['getItem', 'getItem'])
    waiting.shift()?.go()
    await first
    const { sessionRef } = session.state
    await realm({ storage: records.handle({ lock: false }) }).session.signIn(service.issue())
    const resumed = session.resume()
    await flush()
    waiting.pop()?.go()
    await resumed
    expect(session.state.sessionRef).toBe(sessionRef)
    await letAllGo()
    await second
    expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
  })
})

test('the read that confirms a write does not undo a sign-out elsewhere that came after a later read', async () => {
  const { session, service, records, state, clock, waiting, letGo, letAllGo } = held()
  state.isUnanswered = true
  const signedIn = session.signIn(service.issue())
  await letGo('getItem')
  await letGo('setItem')
  expect(waiting.map(({ operation }) => operation)).toEqual(['getItem'])
  // A call reads the record and is answered before that read.
  const resumed = session.resume()
  await flush()
  waiting.pop()?.go()
  await resumed
  records.items.clear()
  state.isUnanswered = false
  await letAllGo()
  await signedIn
  clock.advance(6_000)
  expect(await codeOf(session.getAccessToken())).toBe('login_required')
  await flush()
  expect(records.items.size).toBe(0)
})

test('a refresh that could not be saved during the first save of its session is saved later', async () => {
  const { session, service, records, state, clock, waiting, letGo, letAllGo } = held()
  state.isUnlockable = true
  const signedIn = session.signIn(service.issue())
  await flush()
  const confirming = waiting.splice(0)
  expect(confirming.map(({ operation }) => operation)).toEqual(['getItem'])
  state.isUnlockable = false
  state.isFull = true
  const call = session.getAccessToken({ forceRefresh: true })
  for (let read = 0; read < 3; read++) await letGo('getItem')
  const token = await call
  await letAllGo()
  confirming[0]?.go()
  await signedIn
  state.isFull = false
  clock.advance(6_000)
  expect(await session.getAccessToken()).toBe(token)
  await flush()
  expect(records.record()).toMatchObject({ accessToken: token })
})

test('a pending write does not count as the save of the sign-in that replaced it', async () => {
  const { session, service, records, state, clock, waiting, letGo, letAllGo } = held()
  state.isHolding = false
  state.isFull = true
  await session.signIn(service.issue())
  state.isFull = false
  clock.advance(6_000)
  await session.resume()
  state.isHolding = true
  await session.getAccessToken()
  await letGo('getItem')
  const tokens = service.issue()
  const second = session.signIn(tokens)
  await letGo('setItem')
  await flush()
  records.items.clear()
  const resumed = session.resume()
  await flush()
  waiting.pop()?.go()
  await resumed
  expect(session.state.status).toBe('signed-in')
  await letAllGo()
  await second
  expect(records.record()).toMatchObject({ accessToken: tokens.accessToken })
})

test('a failed write is not reported again when a later one has succeeded before its lock is released', async () => {
  const { clock, service, realm } = sessionRig()
  const records = sharedRecords()
  let isFull = true
  const handle = records.handle({
    fault(operation) {
      if (isFull && operation === 'setItem') throw new Error('full')
    },
  })
  const releases: (() => void)[] = []
  let isSlow = false
  const withLock: typeof handle.withLock = async (_name, task) => {
    const released = isSlow ? new Promise<void>((resolve) => void releases.push(resolve)) : undefined
    return task().finally(() => released)
  }
  const { session, eventsOf } = realm({ storage: { ...handle, withLock } })
  await session.signIn(service.issue())
  isSlow = true
  await session.getAccessToken()
  await flush()
  isFull = false
  clock.advance(6_000)
  await session.getAccessToken()
  await flush()
  expect(records.items.size).toBe(1)
  expect(releases).toHaveLength(2)
  for (const release of releases) release()
  await flush()
  expect(eventsOf('storage_degraded')).toMatchObject([{ type: 'storage_degraded', reason: 'write_failed' }])
})

describe('a refresh', () => {
  const counted = () => {
    const time = virtualTime()
    const { service, realm } = sessionRig(time.clock)
    const inner = sharedRecords().handle()
    const locks = { count: 0 }
    const withLock: typeof inner.withLock = async (name, task, options) => {
      locks.count++
      return inner.withLock?.(name, task, options) as ReturnType<typeof task>
    }
    return { time, service, locks, ...realm({ storage: { ...inner, withLock } }) }
  }

  test('is not repeated for a call whose session was replaced during the retry delay', async () => {
    const { time, service, locks, session } = counted()
    await session.signIn(service.issue())
    service.answer(() => json(503, {}))
    const call = codeOf(session.getAccessToken({ forceRefresh: true }))
    await flush()
    expect(service.sent).toHaveLength(1)
    await session.signIn(service.issue())
    const before = locks.count
    await time.pass(1_000)
    expect(await call).toBe('session_changed')
    expect(locks.count).toBe(before)
  })

  // Each number is how many microtasks after the sign-in the first call of the new session comes.
  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])(
    'that was cancelled does not take the place of the next one: after %i microtasks',
    async (microtasks) => {
      const { time, service, locks, session } = counted()
      await session.signIn(service.issue())
      const old = service.issue()
      await time.pass(3_600_000)
      service.usually('hang')
      const first = codeOf(session.getAccessToken())
      await flush()
      expect(service.sent).toHaveLength(1)
      const signedIn = session.signIn(old)
      for (let turn = 0; turn < microtasks; turn++) await Promise.resolve()
      const calls = [codeOf(session.getAccessToken())]
      await flush()
      const before = locks.count
      calls.push(codeOf(session.getAccessToken()), codeOf(session.getAccessToken()))
      await flush()
      expect(locks.count - before).toBeLessThanOrEqual(microtasks < 2 ? 1 : 0)
      service.usually('ok')
      await session.signOut()
      await time.until(Promise.all([first, signedIn, ...calls]))
    },
  )
})
