import { invalid } from '../config/invalid.ts'
import { checkOptions } from '../config/options.ts'
import { caseOf, type StorageCase, type StorageFactory } from './case.ts'
import { lockChecks } from './lock.ts'
import { recordChecks } from './records.ts'
import { sessionChecks } from './session.ts'

export type { StorageCase, StorageFactory, StorageUnderTest } from './case.ts'

/** The options of `storageSuite`. */
export interface StorageSuiteOptions {
  /** `own` (default): the storage has `withLock`. `none`: one page or process is all that uses it; the cases for locks are left out. */
  readonly lock?: 'own' | 'none' | undefined
  /** For each case, in milliseconds. Default 15,000. */
  readonly limitMs?: number | undefined
}

/**
 * What a storage promises, as a list of cases for any test runner. `open` makes an empty storage for each case: the
 * storage itself, or `{ handle, close }` when several handles, such as connections, share its records.
 */
export function storageSuite(open: StorageFactory, options: StorageSuiteOptions = {}): readonly StorageCase[] {
  if (typeof open !== 'function') invalid('open must be a function that makes a storage')
  checkOptions('storageSuite', options, { lock: { oneOf: ['own', 'none'] }, limitMs: 'number' })
  const { lock = 'own', limitMs = 15_000 } = options
  const checks = { ...recordChecks, ...(lock === 'own' && lockChecks), ...sessionChecks }
  return Object.entries(checks).map(([name, check]) => caseOf(name, check, open, limitMs))
}
