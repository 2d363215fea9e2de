// A storage whose reads outside of a lock are answered by a replica that lags: end-session.ts, endings.ts and last-use.ts.
import { expect, test } from 'vitest'
import { laggingStorage } from '../support/lagging-storage.ts'
import { statuses, twoProcesses } from '../support/two-processes.ts'

test('a logout revokes the token that another process saved, which the replica does not have yet [C-128 F098]', async () => {
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
