// @module-tag redis

import { expect, onTestFinished, test } from 'vitest'
import { backendProcesses } from '../support/backend-processes.ts'
import { nextWord } from '../support/children.ts'
import { serverUrl } from '../support/servers-client.ts'

test('redis: endAll in one process ends the sessions in all, and a refresh that another one has in progress brings none back', async () => {
  const url = await serverUrl('redis')
  const backend = await backendProcesses(onTestFinished, { kind: 'redis', url, processes: 3, people: 2 })
  const { service, children, call } = backend
  const [first, second] = children
  if (!first || !second) throw new Error('There are fewer processes.')
  const everywhere = (): Promise<number[]> => Promise.all([0, 1, 2].flatMap((at) => [call(at, 0), call(at, 1)]))
  expect(new Set(await everywhere())).toEqual(new Set([200]))

  await service.dev.expireAccessTokens()
  service.dev.addFault({ match: { origin: 'auth', method: 'POST' }, effect: { delayMs: 3_000 }, times: 1 })
  const sends = nextWord(second)
  const refreshing = call(1, 0)
  expect(await sends).toBe('sends')
  await expect.poll(() => service.dev.faults(), { timeout: 10_000 }).toEqual([])
  const ended = nextWord(first)
  first.send('endAll')
  expect(await ended).toBe('ended')
  await refreshing
  await expect.poll(async () => new Set(await everywhere()), { timeout: 15_000 }).toEqual(new Set([401]))
  expect(new Set(await everywhere())).toEqual(new Set([401]))
})
