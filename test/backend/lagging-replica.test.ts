// A storage whose reads outside of a lock are answered by a replica that lags.
import { expect, test } from 'vitest'
import { laggingStorage } from '../support/lagging-storage.ts'
import { statuses, twoProcesses } from '../support/two-processes.ts'

test('a logout revokes the token that another process saved, which the replica does not have yet', async () => {
  const { sessions, records, catchUp } = laggingStorage()
  const { rig, clock, service, signIn } = await twoProcesses({ options: { sessions } })
  const { here, there } = await signIn()
  catchUp()
  expect(await statuses(there)).toEqual(['signed-in'])
  clock.advance(700_000)
  expect((await here.call()).status).toBe(204)
  expect([...service.live]).toEqual(['refresh-2'])
  expect((await there.logOut()).status).toBe(200)
  expect(rig.events.at(-1)).toEqual({ type: 'logged_out', revocation: 'done' })
  expect([...service.live]).toEqual([])
  expect([...records.keys()]).toEqual([])
})

test.each(['endAll', 'endSessionsOf'] as const)(
  'a sign-in after %s is valid everywhere, although the replica still has the ending before it',
  async (call) => {
    const { sessions, catchUp } = laggingStorage()
    const { rig, clock, signIn } = await twoProcesses({ options: { sessions } })
    const end = (): Promise<void> => (call === 'endAll' ? rig.backend.endAll() : rig.backend.endSessionsOf('ada'))
    await end()
    catchUp()
    const before = await signIn()
    await end()
    const after = await signIn()
    for (let round = 0; round < 3; round++) {
      expect(await statuses(after.here, after.there)).toEqual(['signed-in', 'signed-in'])
      clock.advance(2_000)
    }
    catchUp()
    clock.advance(2_000)
    expect(await statuses(before.here, before.there)).toEqual(['signed-out', 'signed-out'])
  },
)

test('a use that the replica does not have yet keeps the session from ending by idleMs', async () => {
  const idleMs = 600_000
  const { sessions, catchUp } = laggingStorage()
  const { clock, signIn } = await twoProcesses({ options: { sessions, idleMs } })
  const { here, there } = await signIn()
  clock.advance(idleMs / 2)
  expect((await here.call()).status).toBe(204)
  catchUp()
  clock.advance(idleMs - 1)
  expect((await here.call()).status).toBe(204)
  clock.advance(2)
  expect(await statuses(here, there)).toEqual(['signed-in', 'signed-in'])
})
