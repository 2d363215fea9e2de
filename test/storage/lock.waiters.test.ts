import { memoryStorage } from 'agent-auth'
import { expect, test } from 'vitest'
import { turn } from '../support/one-session.ts'

test('a waiter that gives up does not let the next one in beside the holder', async () => {
  const storage = memoryStorage()
  let inside = 0
  let most = 0
  let release = (): void => {}
  const task = async (): Promise<void> => {
    most = Math.max(most, ++inside)
    await new Promise<void>((resolve) => {
      release = resolve
    })
    inside--
  }
  const holder = storage.withLock?.('x', task)
  const giveUp = new AbortController()
  const waiter = storage.withLock?.('x', task, { signal: giveUp.signal }).catch((error: unknown) => error)
  giveUp.abort('given up')
  expect(await waiter).toBe('given up')
  const third = storage.withLock?.('x', task)
  await turn()
  expect(inside).toBe(1)
  release()
  await holder
  await turn()
  release()
  await third
  expect(most).toBe(1)
})
