import { expect, test } from 'vitest'
import { observedStorage } from '../../src/backend/sessions/observed-storage.ts'
import { watchedStorage } from '../../src/backend/sessions/storage-failure-events.ts'

// The writes and reads of one session: src/backend/sessions/observed-storage.ts.

/** A storage whose changes end in the order that the test chooses. */
function slowStore() {
  const changes: { resolve: () => void; reject: (error: Error) => void }[] = []
  const change = (): Promise<void> => new Promise((resolve, reject) => changes.push({ resolve, reject }))
  return { changes, storage: { getItem: () => null, setItem: change, removeItem: change } }
}

test('an earlier write that ends late does not hide that the later one failed', async () => {
  const { changes, storage } = slowStore()
  const observed = observedStorage(storage)
  const first = observed.storage.setItem('name', 'first')
  const second = observed.storage.setItem('name', 'second')
  changes[0]?.resolve()
  await first
  expect(observed).toMatchObject({ pendingWrite: 'second', hasLastChangeSucceeded: false })
  changes[1]?.reject(new Error('The store is full.'))
  await expect(second).rejects.toThrow('The store is full.')
  expect(observed).toMatchObject({ pendingWrite: 'second', hasLastChangeSucceeded: false })
})

test('an earlier write that ends during a removal does not settle it', async () => {
  const { changes, storage } = slowStore()
  const observed = observedStorage(storage)
  const writing = observed.storage.setItem('name', 'first')
  const removing = observed.storage.removeItem('name')
  changes[0]?.resolve()
  await writing
  expect(observed).toMatchObject({ pendingWrite: undefined, hasLastChangeSucceeded: false })
  changes[1]?.resolve()
  await removing
  expect(observed).toMatchObject({ pendingWrite: undefined, lastSeen: undefined, hasLastChangeSucceeded: true })
})

/** Has `then` and nothing else, and `then` returns nothing. */
const thenable = (value: unknown): Promise<never> =>
  // biome-ignore lint/suspicious/noThenProperty: such an object is what is tested.
  ({ then: (resolve: (given: unknown) => void) => void setTimeout(resolve, 0, value) }) as unknown as Promise<never>

test('a thenable whose then returns nothing is waited for', async () => {
  const storage = { getItem: () => thenable('read'), setItem: () => thenable(undefined), removeItem() {} }
  const observed = observedStorage(watchedStorage(storage, () => {}))
  expect(await observed.storage.getItem('name')).toBe('read')
  expect(observed.lastSeen).toBe('read')
})
