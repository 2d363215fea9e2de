import { expect, test } from 'vitest'
import { sessionRecords } from '../src/backend/sessions/session-records.ts'

// The writes and reads of one session: src/backend/sessions/session-records.ts.

/** A storage whose changes end in the order that the test chooses. */
function slowStore() {
  const changes: { resolve: () => void; reject: (error: Error) => void }[] = []
  const change = (): Promise<void> => new Promise((resolve, reject) => changes.push({ resolve, reject }))
  return { changes, storage: { getItem: () => null, setItem: change, removeItem: change } }
}

test('an earlier write that ends late does not hide that the later one failed', async () => {
  const { changes, storage } = slowStore()
  const records = sessionRecords(storage)
  const first = records.storage.setItem('name', 'first')
  const second = records.storage.setItem('name', 'second')
  changes[0]?.resolve()
  await first
  expect(records).toMatchObject({ pendingWrite: 'second', isSettled: false })
  changes[1]?.reject(new Error('The store is full.'))
  await expect(second).rejects.toThrow('The store is full.')
  expect(records).toMatchObject({ pendingWrite: 'second', isSettled: false })
})

test('an earlier write that ends during a removal does not settle it', async () => {
  const { changes, storage } = slowStore()
  const records = sessionRecords(storage)
  const writing = records.storage.setItem('name', 'first')
  const removing = records.storage.removeItem('name')
  changes[0]?.resolve()
  await writing
  expect(records).toMatchObject({ pendingWrite: undefined, isSettled: false })
  changes[1]?.resolve()
  await removing
  expect(records).toMatchObject({ pendingWrite: undefined, lastSeen: undefined, isSettled: true })
})
