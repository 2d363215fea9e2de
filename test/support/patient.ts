import { onTestFinished } from 'vitest'
import { databaseTimeoutMs } from '../../src/internal/limits.ts'
import { maxStorageOperationMs } from '../../src/storage/lock.ts'

/**
 * Until the test ends, each operation of a storage may take twenty times as long as it may otherwise, because the machine may have
 * as much more to do. For tests that prove something else than these time limits.
 */
export function patient(): void {
  const original = globalThis.setTimeout
  const limits: unknown[] = [databaseTimeoutMs, maxStorageOperationMs]
  const patiently = (task: () => void, waitMs?: number, ...given: []) =>
    original(task, limits.includes(waitMs) ? 20 * Number(waitMs) : waitMs, ...given)
  globalThis.setTimeout = patiently as typeof setTimeout
  onTestFinished(() => {
    globalThis.setTimeout = original
  })
}
