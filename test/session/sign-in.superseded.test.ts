import { describe, expect, test } from 'vitest'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { sharedRecords } from '../support/shared-records.ts'
import { json } from '../support/token-service.ts'
import { flush, virtualTime } from '../support/virtual-time.ts'

test('a sign-in writes nothing if the user signs out while it reads the storage', async () => {
  const { service, realm } = sessionRig()
  const records = sharedRecords()
  const written: unknown[] = []
  records.onChange(() => written.push(records.record()?.accessToken))
  const reads: (() => void)[] = []
  const step = (): Promise<void> => new Promise((resolve) => void reads.push(resolve))
  const { session } = realm({ storage: records.handle({ step }) })
  const signedIn = session.signIn(service.issue())
  await flush()
  const out = session.signOut()
  for (let turn = 0; turn < 10; turn++) {
    for (const go of reads.splice(0)) go()
    await flush()
  }
  await Promise.all([signedIn, out])
  expect(written).toEqual([])
  expect(session.state.status).toBe('signed-out')
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
