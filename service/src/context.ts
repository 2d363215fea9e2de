import type { ServiceConfig } from './config.ts'
import type { ServiceKeys } from './credentials/keys.ts'
import type { Passwords } from './credentials/passwords.ts'
import type { Throttles } from './credentials/throttles.ts'
import type { AutoApproval } from './state/auto-approval.ts'
import type { ServiceClock } from './state/clock.ts'
import type { EndpointBilling } from './state/endpoint-billing.ts'
import type { Faults } from './state/faults.ts'
import type { Journal } from './state/journal.ts'
import type { Store } from './store/store.ts'

/**
 * What every handler of one running service shares. Of several processes on one database each has its own clock,
 * journal, faults, approval and throttles; the store and the keys in it are common to all.
 */
export interface ServiceContext {
  readonly config: ServiceConfig
  readonly clock: ServiceClock
  readonly journal: Journal
  readonly faults: Faults
  readonly autoApproval: AutoApproval
  readonly endpointBilling: EndpointBilling
  readonly store: Store
  readonly keys: ServiceKeys
  readonly passwords: Passwords
  readonly throttles: Throttles
}
