import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { lastUses } from '../../src/backend/sessions/last-use.ts'
import { watchedStorage } from '../../src/backend/sessions/session-storage.ts'
import { testClock } from '../support/clock.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

test('a storage that never responds delays a use by a second, and the next uses not at all', async () => {
  const clock = testClock()
  const setItem = vi.fn(() => new Promise<void>(() => {}))
  const sessions = watchedStorage({ getItem: () => undefined, setItem, removeItem() {} }, () => {})
  const uses = lastUses(sessions, { clock, idleMs: 600_000 })
  let isNoted = false
  void Promise.resolve(uses.note('name')).then(() => {
    isNoted = true
  })
  await vi.advanceTimersByTimeAsync(999)
  expect(isNoted).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(isNoted).toBe(true)
  clock.advance(1_000)
  expect({ note: uses.note('name'), writesCount: setItem.mock.calls.length }).toStrictEqual({
    note: undefined,
    writesCount: 1,
  })
})
