import { expect, test } from 'vitest'
import { watchedStorage } from './recorder.ts'

/** A storage whose reads end when the test says so. */
function heldReads() {
  const ends: (() => void)[] = []
  const watched = watchedStorage({
    getItem: () => new Promise<string | null>((resolve) => ends.push(() => resolve(null))),
    setItem: async () => {},
    removeItem: async () => {},
    withLock: (_, task) => task(),
  })
  const endRead = (at: number): void => ends[at]?.()
  return { ...watched, endRead }
}

test('a read counts from its beginning', async () => {
  const { storage, known, endRead } = heldReads()
  for (const [at, read] of [
    () => storage.getItem('name'),
    () => storage.withLock('name', () => storage.getItem('name')),
  ].entries()) {
    const { readMs: before = 0 } = known()
    const reading = read()
    endRead(at)
    await reading
    expect(known().readMs).toBeGreaterThan(before)
  }
})

test('a read does not count if a write or a read under the lock ended during it, because a session discards it', async () => {
  const { storage, known, endRead } = heldReads()
  const locked = storage.withLock('name', () => storage.getItem('name'))
  const besideRead = storage.getItem('name')
  endRead(0)
  await locked
  const { readMs } = known()
  endRead(1)
  await besideRead
  expect(known().readMs).toBe(readMs)
  const besideWrite = storage.getItem('name')
  await storage.setItem('name', 'value')
  endRead(2)
  await besideWrite
  expect(known().readMs).toBe(readMs)
})
