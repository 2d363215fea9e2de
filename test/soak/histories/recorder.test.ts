import { expect, test } from 'vitest'
import { watchedStorage } from './recorder.ts'

/** A storage whose reads end when the test says so. */
function heldReads() {
  const ends: (() => void)[] = []
  const watched = watchedStorage({
    getItem: () => new Promise<string | null>((resolve) => ends.push(() => resolve(null))),
    setItem: async () => {},
    removeItem: async () => {},
    withLock: (_name, task) => task(),
  })
  const { storage } = watched
  return {
    ...watched,
    read: async () => storage.getItem('name'),
    readLocked: async () => storage.withLock?.('name', async () => storage.getItem('name')),
    endRead: (at: number): void => ends[at]?.(),
  }
}

test('a read counts from its beginning', async () => {
  const { read, readLocked, known, endRead } = heldReads()
  for (const [at, begin] of [read, readLocked].entries()) {
    const { readMs: before = 0 } = known()
    const reading = begin()
    endRead(at)
    await reading
    expect(known().readMs).toBeGreaterThan(before)
  }
})

test('a read does not count if a write or a read under the lock ended during it, because a session discards it', async () => {
  const { storage, read, readLocked, known, endRead } = heldReads()
  const locked = readLocked()
  const besideRead = read()
  endRead(0)
  await locked
  const { readMs } = known()
  endRead(1)
  await besideRead
  expect(known().readMs).toBe(readMs)
  const besideWrite = read()
  await storage.setItem('name', 'value')
  endRead(2)
  await besideWrite
  expect(known().readMs).toBe(readMs)
})
