import { randomUUID } from 'node:crypto'
import { serverLimits } from '../limits.ts'
import type { ServiceClock } from './clock.ts'

/**
 * A request or an event, which only the dev controls show. It has no secrets: no query, body, cookie, token or header value except
 * the scheme name.
 */
export type JournalEntry = RequestEntry | EventEntry

/** One request that the service received. */
export interface RequestEntry {
  kind: 'request'
  /** The time of the request by the clock of the service, in epoch milliseconds. */
  atMs: number
  /** The authorization server or the API. */
  origin: 'auth' | 'base'
  /** The HTTP method. */
  method: string
  /** The path, without the query. */
  path: string
  /** The status of the response. */
  status: number
  /** The scheme of the Authorization header. */
  authorization: 'none' | 'basic' | 'bearer' | 'other'
  /** The media type of the body. */
  contentType: string | null
  /** The `grant_type` of a token request. */
  grantType?: string
  /** The fault that a rule made of this request. */
  fault?: string
  /** The client that was identified. */
  clientId?: string
  /** The user that was identified. */
  personId?: string
}

/** One security event. */
export interface EventEntry {
  kind: 'event'
  /** Names this one record. */
  id: string
  /** The time of the event by the clock of the service, in epoch milliseconds. */
  atMs: number
  /** What happened. */
  event: SecurityEvent
  /** The client that it concerns. */
  clientId?: string
  /** The user that it concerns. */
  personId?: string
  /** The tenant that it concerns. */
  tenant?: string
}

/** The names of the security events. */
export type SecurityEvent =
  | 'sign_in_succeeded'
  | 'sign_in_failed'
  | 'signed_out'
  | 'consent_approved'
  | 'consent_denied'
  | 'code_replayed'
  | 'refresh_token_reused'
  | 'client_authentication_failed'
  | 'access_forbidden'
  | RegistryEvent

/** A change of the client registry, which is stored with the data as well (S-060, A-82). */
export type RegistryEvent =
  | 'client_created'
  | 'client_activated'
  | 'client_deactivated'
  | 'client_secret_created'
  | 'client_secret_retired'

export interface Journal {
  request(entry: Omit<RequestEntry, 'kind' | 'atMs'>): void
  event(event: SecurityEvent, who?: Pick<EventEntry, 'clientId' | 'personId' | 'tenant'>): void
  entries(): JournalEntry[]
  clear(): void
}

const { journalEntries: maxEntries, journalBlock: block } = serverLimits

/**
 * Creates an empty journal in memory, which shows the newest entries (`journalEntries`, 10,000; it drops old ones in blocks of
 * `journalBlock`, 1,000). `onEvent` gets each security event.
 */
export function createJournal(clock: ServiceClock, onEvent: (event: EventEntry) => void = () => undefined): Journal {
  let kept: JournalEntry[] = []
  function add(entry: JournalEntry): void {
    kept.push(entry)
    if (kept.length >= maxEntries + block) kept = kept.slice(-maxEntries)
  }
  return {
    request: (entry) => add({ kind: 'request', atMs: clock.nowMs(), ...entry }),
    event: (event, who = {}) => {
      const entry: EventEntry = { kind: 'event', id: randomUUID(), atMs: clock.nowMs(), event, ...who }
      add(entry)
      onEvent(entry)
    },
    entries: () => kept.slice(-maxEntries).map((entry) => ({ ...entry })),
    clear: () => {
      kept = []
    },
  }
}
