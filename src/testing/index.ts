import { checkNames, invalid } from '../internal/values.ts'
import { caseOf, type StorageCase, type StorageFactory } from './case.ts'
import { lockChecks } from './lock.ts'
import { recordChecks } from './records.ts'
import { sessionChecks } from './session.ts'

export type {
  RunningService,
  ServiceClient,
  ServiceControls,
  ServiceFault,
  ServiceTransport,
  ServiceUser,
} from './agent-service.ts'
export type { StorageCase, StorageFactory, StorageUnderTest } from './case.ts'
export { type TestClock, testClock } from './clock.ts'
export { type HeldFetch, type HeldRequests, holdRequests, meetingPoint } from './hold.ts'
export { type PageStorage, type SignedInOptions, signedIn, type TestPage, type TestRoute } from './signed-in.ts'
export { type AppHandler, type SignedInCookieOptions, signedInCookie } from './signed-in-cookie.ts'
export { type TestAppOptions, type TestService, type TestServiceOptions, testService } from './test-service.ts'

/** The options of `storageSuite`. */
export interface StorageSuiteOptions {
  /** Sets whether the storage has `withLock` (`own`) or one page or process uses it alone (`none`: no cases for locks). Default: `own`. */
  readonly lock?: 'own' | 'none' | undefined
  /** Time limit of each case, in milliseconds. Default: 15,000. */
  readonly limitMs?: number | undefined
}

/**
 * Returns the contract of a storage as a list of cases for any test runner. `open` creates an empty storage for each case: the
 * storage itself, or `{ handle, close }` if several clients, such as connections, share its records. Throws `config_invalid`.
 */
export function storageSuite(open: StorageFactory, options: StorageSuiteOptions = {}): readonly StorageCase[] {
  if (typeof open !== 'function') invalid('open must be a function that creates a storage')
  const { lock = 'own', limitMs = 15_000 } = checkNames('storageSuite', options, ['lock', 'limitMs'])
  if (lock !== 'own' && lock !== 'none') invalid('lock must be own or none')
  const checks = { ...recordChecks, ...(lock === 'own' && lockChecks), ...sessionChecks }
  return Object.entries(checks).map(([name, check]) => caseOf(name, check, open, limitMs))
}
