import type { AccessChange } from './access.ts'
import type { ClockState } from './state/clock.ts'
import type { FaultRule } from './state/faults.ts'
import type { JournalEntry } from './state/journal.ts'

/** A demo user. */
export interface Person {
  /** The name that pages show. */
  name: string
  /** The name to sign in with. */
  email: string
  /** Empty when the data file was seeded by an earlier start: only its hash is kept. */
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
  /** Absent when the data file was seeded by an earlier start: only its hash is kept. */
  clientSecret?: string
  /** The tenant of the client. */
  tenant: string
  /** The registered redirect URIs. */
  redirectUris: string[]
}

/** The controls of a test. The same are served at /_dev/* when dev is on. */
export interface DevControls {
  /** Returns the time of the service in epoch milliseconds. */
  nowMs(): number
  /** Moves the clock forward by so many milliseconds. */
  advance(ms: number): void
  /** Stops the clock. */
  freeze(): void
  /** Lets the clock run again. */
  unfreeze(): void
  /** Returns how far the clock was moved and whether it stands. */
  clockState(): ClockState
  /** Makes every access token expired. */
  expireAccessTokens(): Promise<void>
  /** Every refresh token is refused from now on; access tokens live out their time. */
  revokeRefreshTokens(): Promise<void>
  /** Returns a user session token for the user with this email address. */
  mintSessionToken(email: string): Promise<string>
  /** Returns the requests and events so far. */
  journal(): JournalEntry[]
  /** Whoever it names signs in and approves without pages: authorize redirects at once. Undefined turns it off. */
  autoApprove(email: string | undefined): void
  /** Who does at the moment. */
  autoApproved(): string | undefined
  /** Sets what the API answers 403 for, from the next request on. Rejects with a TypeError if there is no such thing. */
  setAccess(change: AccessChange): Promise<void>
  /** Makes requests go wrong on purpose: on both origins, over sockets and in process. */
  addFault(rule: FaultRule): void
  /** Removes all faults. */
  clearFaults(): void
  /** The rules that are not used up, with the times that are left. */
  faults(): FaultRule[]
  /** Back to the seed without faults and automatic approval, with the people and clients that are known already. The clock stays where it is. */
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
  /** Answers in process; the URL's origin chooses the authorization host or the API host. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** Controls for tests. */
  dev: DevControls
  /** Stops the service and releases what it holds. */
  close(): Promise<void>
}
