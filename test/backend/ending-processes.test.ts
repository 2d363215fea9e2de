// @module-tag redis

import { expect, onTestFinished, test } from 'vitest'
import { backendProcesses, told } from '../support/backend-processes.ts'
import { serverUrl } from '../support/servers-client.ts'

test('redis: endAll in one process ends the sessions in all, and a refresh that another one has in progress brings none back', async () => {
  const url = await serverUrl('redis')
  const backend = await backendProcesses(onTestFinished, { url, processes: 3, people: 2 })
  const { service, children, call } = backend
  const [first] = children
  if (!first) throw new Error('There are fewer processes.')
  const everywhere = (): Promise<number[]> => Promise.all([0, 1, 2].flatMap((at) => [call(at, 0), call(at, 1)]))
  expect(new Set(await everywhere())).toEqual(new Set([200]))

  await service.dev.expireAccessTokens()
  const refreshing = await backend.holdRefresh(1, 0)
  await told(first, 'endAll', 'ended')
  refreshing.child.send('go')
  expect(await refreshing.answered).toEqual(expect.any(Number))
  await expect.poll(async () => new Set(await everywhere())).toEqual(new Set([401]))
  expect(new Set(await everywhere())).toEqual(new Set([401]))
})
