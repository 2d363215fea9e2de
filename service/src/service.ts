import type { AccessChange } from './access-change.ts'
import type { ClockState, FaultRule, JournalEntry } from './state.ts'

/** A demo user. */
export interface Person {
  /** The name that pages show. */
  name: string
  /** The name to sign in with. */
  email: string
  /** Empty if an earlier start created it, because only its hash is stored. */
  password: string
  /** The tenant of the user. */
  tenant: string
  /** What the user may do in the API. */
  permissions: string[]
}

/** A demo client. */
export interface Client {
  /** The name that pages show. */
  name: string
  /** The `client_id`. */
  clientId: string
  /** Whether the client has a secret. */
  kind: 'public' | 'confidential'
  /** Absent if an earlier start created it, because only its hash is stored. */
  clientSecret?: string
  /** The tenant of the client. */
  tenant: string
  /** The registered redirect URIs. */
  redirectUris: string[]
}

/** Controls for tests. With `dev: 'on'` the service also serves them at /_dev/*. */
export interface DevControls {
  /** Returns the time of the service in epoch milliseconds. */
  nowMs(): number
  /** Moves the clock of the service ahead, in milliseconds. Throws a RangeError for a time after the year 9999. */
  advance(ms: number): void
  /** Stops the clock. */
  freeze(): void
  /** Lets the clock run again. */
  unfreeze(): void
  /** Returns whether the clock runs or is frozen. */
  clockState(): ClockState
  /** Makes every access token expired. */
  expireAccessTokens(): Promise<void>
  /** Revokes every refresh token. Access tokens stay valid until they expire. */
  revokeRefreshTokens(): Promise<void>
  /** Issues a user session token for the user with this email address. Rejects with an Error if there is none. */
  mintSessionToken(email: string): Promise<string>
  /** Returns the requests and events so far. */
  journal(): JournalEntry[]
  /** Makes authorize redirect without pages, signed in and approved as this user. `undefined` turns it off. */
  autoApprove(email: string | undefined): void
  /** Makes authorize redirect without pages with `access_denied`, as if this user had denied. `undefined` turns it off. */
  autoDeny(email: string | undefined): void
  /** Returns the email address that `autoApprove` set, or undefined. */
  autoApproved(): string | undefined
  /** Changes which requests of the API get 403, from the next request on. Rejects with a TypeError for an unknown name. */
  setAccess(change: AccessChange): Promise<void>
  /** Adds a fault: requests that match it fail, over sockets and in process. Throws a TypeError for an invalid rule. */
  addFault(rule: FaultRule): void
  /** Removes all faults. */
  clearFaults(): void
  /** Returns the rules that are left, with the number of times that each has left. */
  faults(): FaultRule[]
  /** Restores the initial data of the same users and clients, and removes faults and automatic approval. The clock does not change. */
  reset(): Promise<void>
}

/** A running service. */
export interface Service {
  /** Origin of the authorization server. */
  authUrl: string
  /** Origin of the API. */
  baseUrl: string
  /** The demo users with their passwords. */
  people: Person[]
  /** The demo clients with their secrets. */
  clients: Client[]
  /** Handles a request in process. The origin of the URL selects the authorization server or the API. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** Controls for tests. */
  dev: DevControls
  /** Stops the service and releases what it holds. */
  close(): Promise<void>
}
