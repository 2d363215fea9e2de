import { randomUUID } from 'node:crypto'
import { credentialLimits, serverLimits, toolLimits } from './limits.ts'
import { hashToken } from './store/database.ts'
import type { RegistryEvent } from './store/schema.ts'

/**
 * The only time source of the service. It can be moved ahead or stopped, and it never goes
 * back.
 */
export interface ServiceClock {
  nowMs(): number
  advance(ms: number): void
  freeze(): void
  unfreeze(): void
  state(): ClockState
  /** The time before which data may be removed. A test moves the clock of one process, and others share the data. */
  purgeMs(): number
}

export type ClockState = 'running' | 'frozen'

export function createClock(wallMs: () => number = Date.now): ServiceClock {
  let offsetMs = 0
  let frozenMs: number | undefined
  let latestMs = Number.NEGATIVE_INFINITY

  function nowMs(): number {
    latestMs = Math.max(latestMs, frozenMs ?? wallMs() + offsetMs)
    return latestMs
  }
  return {
    nowMs,
    advance(ms) {
      if (!Number.isSafeInteger(ms) || ms < 0)
        throw new RangeError('the clock moves ahead by a whole number of milliseconds, 0 or more')
      if (ms > toolLimits.clockMs - nowMs())
        throw new RangeError('the clock goes to the end of the year 9999; advance it less')
      offsetMs += ms
      if (frozenMs !== undefined) frozenMs += ms
    },
    freeze() {
      frozenMs ??= nowMs()
    },
    unfreeze() {
      if (frozenMs === undefined) return
      offsetMs = frozenMs - wallMs()
      frozenMs = undefined
    },
    purgeMs: () => Math.min(nowMs(), wallMs()),
    state: () => (frozenMs === undefined ? 'running' : 'frozen'),
  }
}

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

export interface Journal {
  request(entry: Omit<RequestEntry, 'kind' | 'atMs'>): void
  event(event: SecurityEvent, who?: Pick<EventEntry, 'clientId' | 'personId' | 'tenant'>): void
  entries(): JournalEntry[]
  clear(): void
}

const { journalEntries: maxEntries, journalBlock: block } = serverLimits

/**
 * Creates an empty journal in memory, which shows the newest entries. `onEvent` gets each security event.
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

/** A fault for a test: which requests it hits, what happens to them, and how often. */
export interface FaultRule {
  /** Which requests. Default: all. */
  match?: FaultMatch | undefined
  /** What happens to them. */
  effect: FaultEffect
  /** How many requests it hits; without it, every one until the faults are cleared. */
  times?: number | undefined
}

/** Selects the requests of a fault. An absent member matches every request. */
export interface FaultMatch {
  /** The HTTP method. */
  method?: string | undefined
  /** The path. One that ends with `*` matches every path with that beginning. */
  path?: string | undefined
  /** The authorization server or the API. */
  origin?: 'auth' | 'base' | undefined
}

/**
 * The effect of a fault: another response, a delay before the response, or a lost response. `reset` breaks the connection
 * before anything is done. After `truncate` everything is done and half of the response arrives; after
 * `drop-after-commit` everything is done and no response arrives.
 */
export type FaultEffect =
  /** Responds with this status, this body (text, or JSON of any other value) and these headers. */
  | { status: number; body?: unknown; headers?: Record<string, string> | undefined }
  /** Waits this number of milliseconds first. */
  | { delayMs: number }
  | 'reset'
  | 'truncate'
  | 'drop-after-commit'

export interface FaultTarget {
  method: string
  path: string
  origin: 'auth' | 'base'
}

export interface Faults {
  add(rule: FaultRule): void
  clear(): void
  /** The rules that are not used up, with the times that are left. */
  list(): FaultRule[]
  /** The effect of the oldest rule that matches and is not used up. Counts as one use of it. */
  take(target: FaultTarget): FaultEffect | undefined
}

interface Kept {
  rule: FaultRule
  left: number
}

export function createFaults(): Faults {
  let kept: Kept[] = []
  return {
    add(rule) {
      kept.push({ rule, left: rule.times ?? Number.POSITIVE_INFINITY })
    },
    clear() {
      kept = []
    },
    list: () => kept.map(({ rule, left }) => (rule.times === undefined ? rule : { ...rule, times: left })),
    take(target) {
      const found = kept.find(({ rule }) => matches(rule.match ?? {}, target))
      if (found === undefined) return undefined
      found.left -= 1
      if (found.left === 0) kept = kept.filter((one) => one !== found)
      return found.rule.effect
    },
  }
}

function matches(match: FaultMatch, target: FaultTarget): boolean {
  if (match.origin !== undefined && match.origin !== target.origin) return false
  if (match.method !== undefined && match.method.toUpperCase() !== target.method) return false
  if (match.path === undefined) return true
  return match.path.endsWith('*') ? target.path.startsWith(match.path.slice(0, -1)) : match.path === target.path
}

/** How many failures are allowed, and what they cost. */
export interface ThrottlePolicy {
  /** Failures without a delay. After them each failure doubles the delay, and attempts go one at a time. */
  freeFailures: number
  firstDelayMs: number
  longestDelayMs: number
  /** How long failures are remembered after the last one and its delay. */
  rememberMs: number
  /** From so many failures in a row on, the delay is this one. */
  stop?: { failures: number; delayMs: number }
  /** An address keeps its failures. Otherwise a user could reset the count of guesses at others by signing in. */
  afterSuccess: 'forget' | 'keep'
}

export interface TooSoon {
  kind: 'wait'
  retryAfterMs: number
}

export interface Admitted {
  kind: 'go'
  /** `undecided` means that nothing was compared, which counts as no failure. */
  settle(result: AttemptResult): void
}

export type AttemptResult = 'success' | 'failure' | 'undecided'

export interface Throttle {
  /** Admits an attempt, or returns how long to wait: also while earlier ones could still use up the free failures. */
  admit(key: string): Admitted | TooSoon
  /** Returns how long the next attempt has to wait, or 0. */
  waitMs(key: string): number
  /** Counts an attempt that was not admitted here. */
  settle(key: string, result: AttemptResult): void
  clear(): void
}

interface FailureRecord {
  failures: number
  blockedUntilMs: number
  forgetAtMs: number
}

/** Delays attempts at a key after failures. A success or enough time ends the delays. */
export function createThrottle(clock: ServiceClock, policy: ThrottlePolicy): Throttle {
  // In the order of their last failures, so that the oldest one makes room.
  const failed = new Map<string, FailureRecord>()
  const inProgress = new Map<string, number>()

  function find(id: string): FailureRecord | undefined {
    const record = failed.get(id)
    return record === undefined || record.forgetAtMs <= clock.nowMs() ? undefined : record
  }
  function count(id: string, result: AttemptResult): void {
    if (result === 'success' && policy.afterSuccess === 'forget') failed.delete(id)
    if (result !== 'failure') return
    const failures = (find(id)?.failures ?? 0) + 1
    const blockedUntilMs = clock.nowMs() + delayAfter(failures, policy)
    failed.delete(id)
    if (failed.size >= credentialLimits.failedKeys) failed.delete(failed.keys().next().value ?? '')
    failed.set(id, { failures, blockedUntilMs, forgetAtMs: blockedUntilMs + policy.rememberMs })
  }
  function leave(id: string, result: AttemptResult): void {
    const others = (inProgress.get(id) ?? 1) - 1
    if (others === 0) inProgress.delete(id)
    else inProgress.set(id, others)
    count(id, result)
  }
  function waitOf(id: string): number {
    return Math.max(0, (find(id)?.blockedUntilMs ?? 0) - clock.nowMs())
  }
  return {
    admit(key) {
      const id = idOf(key)
      const waitMs = waitOf(id)
      if (waitMs > 0) return { kind: 'wait', retryAfterMs: waitMs }
      const others = inProgress.get(id) ?? 0
      // If all attempts in progress fail, there are no more failures than are free of a delay.
      if (others > 0 && (find(id)?.failures ?? 0) + others >= policy.freeFailures) {
        return { kind: 'wait', retryAfterMs: credentialLimits.attemptRetryMs }
      }
      inProgress.set(id, others + 1)
      return { kind: 'go', settle: (result) => leave(id, result) }
    },
    waitMs: (key) => waitOf(idOf(key)),
    settle: (key, result) => count(idOf(key), result),
    clear: () => failed.clear(),
  }
}

/** Returns a digest, because a key may be as long as a form. */
function idOf(key: string): string {
  return hashToken(key)
}

function delayAfter(failures: number, { freeFailures, firstDelayMs, longestDelayMs, stop }: ThrottlePolicy): number {
  if (stop !== undefined && failures >= stop.failures) return stop.delayMs
  const beyond = failures - freeFailures
  if (beyond <= 0) return 0
  return Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(beyond - 1, 30))
}
