// @module-tag redis

import { expect, onTestFinished, test } from 'vitest'
import { type BackendProcesses, backendProcesses } from '../support/backend-processes.ts'
import { serverUrl } from '../support/servers-client.ts'

const people = 5
const stopped = people
const killed = people + 1

/** Calls the API several times through all processes but the first `from`. */
function everywhere(
  { children, call }: BackendProcesses,
  person: number,
  from: number,
  times: number,
): Promise<number[]> {
  const processes = children.slice(from).map((_, at) => at + from)
  return Promise.all(Array.from({ length: times }, () => processes.map((process) => call(process, person))).flat())
}

test('four processes of one backend refresh each session once, and one that stops or dies in a refresh ends no session', async () => {
  const url = await serverUrl('redis')
  const backend = await backendProcesses(onTestFinished, { url, processes: 4, people: people + 2 })
  // The first call of a process takes longer, and that of a user opens the session in it.
  for (const [process] of backend.children.entries())
    for (let person = 0; person < people; person++) expect(await backend.call(process, person)).toBe(200)
  await backend.service.dev.expireAccessTokens()

  const stale = Array.from({ length: people }, (_, person) => everywhere(backend, person, 0, 2))
  expect((await Promise.all(stale)).flat().filter((status) => status !== 200)).toEqual([])
  expect(backend.refreshes()).toBe(people)

  const [asleep, dead] = await Promise.all([backend.holdRefresh(0, stopped), backend.holdRefresh(1, killed)])
  asleep.child.kill('SIGSTOP')
  dead.child.kill('SIGKILL')
  // The others wait until the leases have ended.
  const waiting = await Promise.all([everywhere(backend, stopped, 2, 3), everywhere(backend, killed, 2, 3)])
  expect(new Set(waiting.flat())).toEqual(new Set([200]))
  asleep.child.kill('SIGCONT')
  asleep.child.send('go')
  expect({ asleep: await asleep.answered, dead: await dead.answered }).toEqual({ asleep: 200, dead: 'no answer' })
  expect({ stopped: await backend.call(0, stopped), killed: await backend.call(2, killed) }).toEqual({
    stopped: 200,
    killed: 200,
  })
  // Each of the two sessions whose response was not saved has one more refresh, and no third.
  const refreshesOfTwo = 2 * 2
  expect(backend.refreshes()).toBe(people + refreshesOfTwo)
})
