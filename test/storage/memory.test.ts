import { memoryStorage } from 'agent-auth'
import { expect, test } from 'vitest'
import { sharedRecords } from '../support/shared-records.ts'
import { flush } from '../support/virtual-time.ts'
import { storageSuite } from './storage-suite.ts'

storageSuite('memoryStorage', () => {
  const storage = memoryStorage()
  return { handle: () => storage }
})

// The models the other session tests stand on keep the same contract.
storageSuite('the model of shared records', () => {
  const records = sharedRecords()
  return { handle: () => records.handle() }
})

storageSuite('the model of shared records, asynchronous', () => {
  const records = sharedRecords()
  return { handle: () => records.handle({ step: () => flush() }) }
})

test('each memoryStorage is one of its own', async () => {
  const [one, two] = [memoryStorage(), memoryStorage()]
  await one.setItem('key', 'value')
  expect((await two.getItem('key')) ?? null).toBeNull()
  let free = false
  await one.withLock?.('key', async () => {
    await two.withLock?.('key', async () => {
      free = true
    })
  })
  expect(free).toBe(true)
})
