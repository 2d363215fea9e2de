import type { AccessChange } from './access.ts'
import type { ClockState } from './clock.ts'
import type { FaultRule } from './faults.ts'
import type { JournalEntry } from './journal.ts'

export interface Person {
  name: string
  email: string
  /** Empty when the data file was seeded by an earlier start: only its hash is kept. */
  password: string
  tenant: string
  permissions: string[]
}

export interface Client {
  name: string
  clientId: string
  kind: 'public' | 'confidential'
  /** Absent when the data file was seeded by an earlier start: only its hash is kept. */
  clientSecret?: string
  tenant: string
  redirectUris: string[]
}

/** The controls of a test. The same are served at /_dev/* when dev is on. */
export interface DevControls {
  nowMs(): number
  advance(ms: number): void
  freeze(): void
  unfreeze(): void
  clockState(): ClockState
  expireAccessTokens(): Promise<void>
  /** Every refresh token is refused from now on; access tokens live out their time. */
  revokeRefreshTokens(): Promise<void>
  mintSessionToken(email: string): Promise<string>
  journal(): JournalEntry[]
  /** Whoever it names signs in and approves without pages: authorize redirects at once. Undefined turns it off. */
  autoApprove(email: string | undefined): void
  /** Who does at the moment. */
  autoApproved(): string | undefined
  /** Sets what the API answers 403 for, from the next request on. Rejects with a TypeError if there is no such thing. */
  setAccess(change: AccessChange): Promise<void>
  /** Makes requests go wrong on purpose: on both origins, over sockets and in process. */
  addFault(rule: FaultRule): void
  clearFaults(): void
  /** The rules that are not used up, with the times that are left. */
  faults(): FaultRule[]
  /** Back to the seed without faults and automatic approval, with the people and clients that are known already. The clock stays where it is. */
  reset(): Promise<void>
}

export interface Service {
  authUrl: string
  baseUrl: string
  people: Person[]
  clients: Client[]
  /** Answers in process; the URL's origin chooses the authorization host or the API host. */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  dev: DevControls
  close(): Promise<void>
}
