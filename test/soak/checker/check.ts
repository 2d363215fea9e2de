import { allowedLate, allowedLosses, late, unsaved, withException } from './exceptions.ts'
import type { HistoryEvent } from './history.ts'
import { judges, type PromiseName, unreadable, type Violation } from './promises.ts'
import { type SessionHistory, sessionsOf } from './sessions.ts'
import { shortest } from './shortest.ts'

/** A number of sessions. */
interface Count {
  readonly allowed: number
  readonly seen: number
}

/** What is known of a history after it was checked. */
export interface Report {
  readonly calls: number
  readonly sessions: number
  /** How many sessions a user signed in to. Without a sign-in, a session can break no promise. */
  readonly signedIn: number
  /** Each place in which a promise did not hold and no document names the loss. */
  readonly violations: readonly Violation[]
  /** How many sessions have each documented exception. */
  readonly exceptions: Readonly<Record<string, number>>
  /** The first of each exception. */
  readonly examples: Readonly<Record<string, Violation>>
  /** How many sessions the faults may cost, and have cost. */
  readonly losses: Count
  /** How many sessions the service may handle too late, and has handled too late. */
  readonly handledLate: Count
  /** The shortest history in which one of the violations remains. */
  readonly shortest: { readonly violation: Violation; readonly events: readonly HistoryEvent[] } | undefined
  readonly holds: boolean
}

/** How many violations are cut down to find the shortest history, because each takes a while in a long one. */
const maxCutDown = 20

/** The exceptions that lose no confirmed write. */
const lossless = new Set([unreadable, unsaved, late])

/** Judges a whole history. */
export function check(events: readonly HistoryEvent[]): Report {
  const sessions = sessionsOf(events)
  const all = sessions.flatMap(violationsOf)
  const violations = all.filter(({ exception }) => exception === undefined)
  const exceptions: Record<string, number> = {}
  const lost = new Set<string>()
  for (const [exception, own] of sessionsByException(all)) {
    exceptions[exception] = own.size
    if (!lossless.has(exception)) for (const session of own) lost.add(session)
  }
  const allowed = allowedLosses(sessions[0]?.faults ?? [], sessions.length)
  const losses = { allowed, seen: lost.size }
  const handledLate = { allowed: allowedLate(sessions.length), seen: exceptions[late] ?? 0 }
  const signedIn = sessions.filter(({ signIns }) => signIns.some(({ issued }) => issued)).length
  const cut = onePerPromise(violations).map((violation) => ({ violation, events: shortest(events, violation) }))
  cut.sort((one, other) => one.events.length - other.events.length)
  return {
    calls: sessions.reduce((sum, { calls }) => sum + calls.length, 0),
    sessions: sessions.length,
    signedIn,
    violations,
    exceptions,
    examples: Object.fromEntries([...all].reverse().map((each) => [each.exception ?? '', each])),
    losses,
    handledLate,
    shortest: cut[0],
    holds: violations.length === 0 && [losses, handledLate].every(({ seen, allowed }) => seen <= allowed),
  }
}

/** Judges one session. */
export function violationsOf(history: SessionHistory): Violation[] {
  return Object.values(judges).flatMap((judge) => judge(history).map((found) => withException(found, history)))
}

function sessionsByException(all: readonly Violation[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>()
  for (const { exception, session } of all) {
    if (exception === undefined) continue
    const own = found.get(exception) ?? new Set()
    found.set(exception, own.add(session))
  }
  return found
}

/** Takes the first violations of each promise, each of another session. */
function onePerPromise(violations: readonly Violation[]): Violation[] {
  const taken = new Map<string, Violation>()
  const keyOf = ({ promise, session }: Violation): `${PromiseName} ${string}` => `${promise} ${session}`
  for (const each of violations) if (!taken.has(keyOf(each))) taken.set(keyOf(each), each)
  return [...taken.values()].slice(0, maxCutDown)
}
