// @module-tag slow

import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { backendProcesses } from '../support/backend-processes.ts'
import { nextWord, startChild } from '../support/children.ts'
import { serverUrl } from '../support/servers-client.ts'
import { peopleSignedIn, type StormTask } from '../support/storm.ts'

// The connection to Redis keeps each of them running.
const kind = 'redis'

async function stormTask(): Promise<StormTask> {
  const size = { kind, url: await serverUrl('redis'), sessions: 1, requests: 1 } as const
  return (await peopleSignedIn(onTestFinished, size)).task
}

const starts = {
  'storm-child.ts': async () => startChild(onTestFinished, 'storm-child.ts', [JSON.stringify(await stormTask())]),
  'refresher.ts': async () => startChild(onTestFinished, 'refresher.ts', [JSON.stringify(await stormTask())]),
  'lock-holder.ts': async () =>
    startChild(onTestFinished, 'lock-holder.ts', [kind, await serverUrl('redis'), randomUUID(), randomUUID()]),
}

for (const [file, start] of Object.entries(starts))
  test(`${file} ends when the process that started it has ended`, { tags: ['redis'] }, async () => {
    const child = await start()
    await nextWord(child)
    child.disconnect()
    const [code, signal] = await once(child, 'exit')
    expect({ code, signal }).toEqual({ code: 0, signal: null })
  })

test('backend-child.ts ends when the process that started it has ended', { tags: ['redis'] }, async () => {
  const size = { kind, url: await serverUrl('redis'), processes: 1, people: 0 } as const
  const { children } = await backendProcesses(onTestFinished, size)
  for (const child of children) {
    child.disconnect()
    const [code, signal] = await once(child, 'exit')
    expect({ code, signal }).toEqual({ code: 0, signal: null })
  }
})
