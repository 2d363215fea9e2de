import type { EndpointId } from './access-change.ts'
import type { ServiceConfig } from './config.ts'
import type { Passwords } from './credentials/passwords.ts'
import type { Throttles } from './credentials/throttle-policies.ts'
import type { ServiceKeys } from './credentials/tokens.ts'
import type { Logins } from './dev/login-traces.ts'
import type { Faults, Journal, ServiceClock } from './state.ts'
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
  /** The user who signs in and decides without pages, for tests without a browser. Only the dev controls set it. */
  readonly automatic: { email?: string | undefined; decision?: 'approve' | 'deny' }
  /** The endpoints whose need of active billing was changed. Only access changes set it. */
  readonly endpointBilling: Map<EndpointId, 'needed' | 'not-needed'>
  readonly store: Store
  readonly keys: ServiceKeys
  readonly passwords: Passwords
  readonly throttles: Throttles
  readonly telemetry: Telemetry
}
