import type { CallKind, Completed, Fault, HistoryEvent, Invoked, Issued, Refused, Stalled } from './history.ts'

/** A call with both of its ends. */
export interface Call {
  readonly id: string
  readonly kind: CallKind
  readonly process: string
  readonly holder: string
  readonly session: string
  /** The wall clock of its process when it was invoked. */
  readonly wallMs: number
  /** When it was invoked. */
  readonly fromMs: number
  /** When it completed. Infinity: it never did, so that its effect has no certain time. */
  readonly toMs: number
  readonly outcome: string | undefined
  /** What the service issued with the token that the call returned, or that the sign-in was given. */
  readonly issued: Issued | undefined
  /** Whether a token came back or was given that the service never issued. */
  readonly isForeign: boolean
  readonly isSaved: boolean
  /** When the holder's latest successful read began. */
  readonly readMs: number
  /** When the holder's latest confirmed write ended. */
  readonly savedMs: number | undefined
  /** When the holder's latest write was sent. */
  readonly writeMs: number | undefined
  readonly reads: 'working' | 'failing'
}

/** All that concerns one shared record, in the order of the monotonic clock. */
export interface SessionHistory {
  readonly session: string
  readonly calls: readonly Call[]
  readonly signIns: readonly Call[]
  readonly signOuts: readonly Call[]
  readonly refused: readonly Refused[]
  readonly issued: readonly Issued[]
  /** When a holder of it learned that a write was confirmed. */
  readonly savedMs: readonly number[]
  readonly faults: readonly Fault[]
  readonly stalls: readonly Stalled[]
}

/** Joins each call with its end and its tokens, and gives each session its part of the history. */
export function sessionsOf(events: readonly HistoryEvent[]): SessionHistory[] {
  const ends = new Map<string, Completed>()
  const issuedAs = new Map<string, Issued>()
  const sessionOfLine = new Map<string, string>()
  for (const event of events) {
    if (event.type === 'completed') ends.set(event.call, event)
    // A repeated answer may hold the token of the first, whose place in the line counts.
    if (event.type === 'issued' && !issuedAs.has(event.access)) issuedAs.set(event.access, event)
  }
  const calls = ofType(events, 'invoked').map((invoked) => joined(invoked, ends.get(invoked.call), issuedAs))
  for (const { kind, issued, session } of calls)
    if (kind === 'signIn' && issued) sessionOfLine.set(issued.line, session)
  const [faults, stalls] = [ofType(events, 'fault'), ofType(events, 'stalled')]
  const [callsOf, refusedOf, issuedOf] = [
    groupBy(calls, ({ session }) => session),
    groupBy(ofType(events, 'refused'), ({ line }) => sessionOfLine.get(line)),
    groupBy(ofType(events, 'issued'), ({ line }) => sessionOfLine.get(line)),
  ]
  return [...callsOf].map(([session = '', own]) => ({
    session,
    calls: own,
    signIns: own.filter(({ kind }) => kind === 'signIn'),
    signOuts: own.filter(({ kind }) => kind === 'signOut'),
    refused: refusedOf.get(session) ?? [],
    issued: issuedOf.get(session) ?? [],
    savedMs: [...new Set(own.flatMap(({ savedMs }) => savedMs ?? []))].sort((one, other) => one - other),
    faults,
    stalls,
  }))
}

function joined(invoked: Invoked, end: Completed | undefined, issuedAs: ReadonlyMap<string, Issued>): Call {
  const token = invoked.token ?? end?.token
  const issued = token === undefined ? undefined : issuedAs.get(token)
  return {
    id: invoked.call,
    kind: invoked.kind,
    process: invoked.process,
    holder: invoked.holder,
    session: invoked.session,
    wallMs: invoked.wallMs,
    fromMs: invoked.monotonicMs,
    toMs: end?.monotonicMs ?? Number.POSITIVE_INFINITY,
    outcome: end?.outcome,
    issued,
    isForeign: token !== undefined && issued === undefined,
    isSaved: end?.saved === true,
    readMs: end?.readMs ?? Number.NEGATIVE_INFINITY,
    savedMs: end?.savedMs,
    writeMs: end?.writeMs,
    reads: end?.reads ?? 'working',
  }
}

function ofType<Type extends HistoryEvent['type']>(
  events: readonly HistoryEvent[],
  type: Type,
): Extract<HistoryEvent, { type: Type }>[] {
  const isOf = (event: HistoryEvent): event is Extract<HistoryEvent, { type: Type }> => event.type === type
  return events.filter(isOf).sort((one, other) => one.monotonicMs - other.monotonicMs)
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}

export function isBefore(one: Call | undefined, other: Call): boolean {
  return one !== undefined && one.toMs < other.fromMs
}

/**
 * Returns whether wall clocks that differ put an earlier sign-in after a later one. They decide if neither was saved at once, or if
 * one of them could not read the storage.
 */
export function isByClocks(earlier: Call | undefined, later: Call): boolean {
  if (!earlier || earlier.wallMs < later.wallMs) return false
  const isUnread = ({ isSaved, readMs, fromMs }: Call): boolean => !isSaved && readMs < fromMs
  return !(earlier.isSaved || later.isSaved) || isUnread(earlier) || isUnread(later)
}

/**
 * Returns whether the record may have been removed in this time: by a sign-out, or by a sign-in that could not be saved, which
 * removes the record that it finds. Either may take effect later if it failed. Sign-ins that are excepted do not count.
 */
export function mayBeRemoved(
  { signIns, signOuts }: SessionHistory,
  except: readonly (Call | undefined)[],
  { fromMs, toMs }: Pick<Call, 'fromMs' | 'toMs'>,
): boolean {
  return [...signOuts, ...signIns].some(
    (other) => !other.isSaved && !except.includes(other) && other.toMs >= fromMs && other.fromMs <= toMs,
  )
}

/**
 * Returns whether a sign-out that failed before this call may have removed the record since: its holder removes it when the storage
 * works again. A save that was confirmed in between ends that. The record is that of an earlier sign-in, whose removal does not end this
 * one if its holder has sent no write since.
 */
export function mayBeRemovedLate(
  { signIns, signOuts, savedMs }: SessionHistory,
  { signIn, call }: { signIn: Call; call: Call },
): boolean {
  if (call.writeMs !== undefined && call.writeMs < signIn.fromMs) return false
  const saves = [...savedMs, ...signIns.flatMap(({ isSaved, toMs }) => (isSaved ? toMs : []))]
  return signOuts.some(
    (signOut) =>
      signOut.outcome !== 'ok' &&
      isBefore(signOut, call) &&
      !saves.some((ms) => ms > signOut.fromMs && ms < call.fromMs),
  )
}

/** Returns whether the holder of a sign-in was told that the session is gone. Whether it should have been is another question. */
export function isKnownToBeGone({ calls }: SessionHistory, signIn: Call | undefined, before: Call): boolean {
  return calls.some(
    (call) =>
      foundNoSession(call) && call.holder === signIn?.holder && isBefore(signIn, call) && isBefore(call, before),
  )
}

export function foundNoSession({ outcome }: Call): boolean {
  return outcome === 'login_required' || outcome === 'session_ended'
}
