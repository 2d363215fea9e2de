import type { ServiceConfig } from './config.ts'
import type { ServiceKeys } from './credentials/keys.ts'
import type { Passwords } from './credentials/passwords.ts'
import type { Throttles } from './credentials/throttle-policies.ts'
import type { AutoApproval } from './state/auto-approved-user.ts'
import type { ServiceClock } from './state/clock.ts'
import type { EndpointBilling } from './state/endpoint-billing.ts'
import type { Faults } from './state/faults.ts'
import type { Journal } from './state/journal.ts'
import type { Logins } from './state/login-traces.ts'
import type { Store } from './store/store.ts'
import type { Telemetry } from './telemetry/telemetry.ts'

/**
 * What all handlers of a running service share. If several processes use one database, each has its own clock, journal,
 * faults, automatic approval and throttles. They share the data and the keys in it.
 */
export interface ServiceContext {
  readonly config: ServiceConfig
  readonly clock: ServiceClock
  readonly journal: Journal
  readonly logins: Logins
  readonly faults: Faults
  readonly autoApproval: AutoApproval
  readonly endpointBilling: EndpointBilling
  readonly store: Store
  readonly keys: ServiceKeys
  readonly passwords: Passwords
  readonly throttles: Throttles
  readonly telemetry: Telemetry
}
