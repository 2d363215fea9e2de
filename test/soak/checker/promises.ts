import type { Refused } from './history.ts'
import { hadLine, mustKnow } from './knowledge.ts'
import {
  type Call,
  foundNoSession,
  isBefore,
  isByClocks,
  isKnownToBeGone,
  mayBeRemoved,
  mayBeRemovedLate,
  type SessionHistory,
} from './sessions.ts'

/** What holds for each session. Only orders that are certain count: one call ended before another began. */
export type PromiseName = 'one line' | 'sign-out' | 'no older token' | 'stays signed in' | 'own tokens'

export interface Violation {
  readonly promise: PromiseName
  readonly session: string
  /** The call, or the refusal of the service, in which the promise did not hold. */
  readonly at: string
  readonly atMs: number
  /** What happened, in one sentence. */
  readonly says: string
  /** The calls that it follows from. */
  readonly evidence: readonly string[]
  /** The calls whose result is gone or was ignored: sign-ins, sign-outs, and calls that returned a later token. */
  readonly contradicts: readonly Call[]
  readonly refusal?: Refused
  /** Set where the documents name this loss and its cause. */
  readonly exception?: string
}

/** The exception of a holder that cannot read the storage and so cannot know of a change. */
export const unreadable = 'the storage could not be read'

type Judge = (history: SessionHistory) => Violation[]

export const judges: Readonly<Record<PromiseName, Judge>> = {
  'one line': (history) => [...reusedTokens(history), ...tokensOfReplacedLines(history)],
  'sign-out': tokensAfterSignOut,
  'no older token': olderTokens,
  'stays signed in': lostSessions,
  'own tokens': foreignTokens,
}

function reusedTokens({ session, refused, signIns }: SessionHistory): Violation[] {
  return refused
    .filter(({ why }) => why === 'reused')
    .map((refusal) => {
      const token = `${refusal.line}.${refusal.generation}`
      const says = `A holder sent the refresh token ${token}, which was used before, after its grace.`
      const evidence = signIns.filter(({ issued }) => issued?.line === refusal.line).map(({ id }) => id)
      const at = `refusal of ${token}`
      const found = { session, at, atMs: refusal.monotonicMs, says, evidence, contradicts: [], refusal }
      return { promise: 'one line', ...found }
    })
}

function tokensOfReplacedLines(history: SessionHistory): Violation[] {
  return handedOut(history).flatMap((call) => {
    const own = signInOf(history, call)
    const isReplacement = (later: Call): boolean =>
      later.outcome === 'ok' &&
      later.isSaved &&
      isBefore(own, later) &&
      (own?.isSaved === true || !(mayBeGone(later, call) || isByClocks(own, later)))
    // A sign-in that is not saved yet goes on if its holder finds no record, as when it signed in.
    const mayBeGone = ({ fromMs }: Call, { toMs }: Call): boolean => mayBeRemoved(history, [own], { fromMs, toMs })
    return own ? tooLate('one line', call, { history, own, endings: history.signIns.filter(isReplacement) }) : []
  })
}

function tokensAfterSignOut(history: SessionHistory): Violation[] {
  return handedOut(history).flatMap((call) => {
    const own = signInOf(history, call)
    // The same holder forgets the tokens that it had at once, also if the storage failed.
    const isEnd = (end: Call): boolean =>
      (end.outcome === 'ok' || (end.holder === call.holder && isBefore(end, call) && hadLine(history, end, own))) &&
      isBefore(own, end) &&
      (own?.isSaved === true || own?.holder === end.holder)
    return own ? tooLate('sign-out', call, { history, own, endings: history.signOuts.filter(isEnd) }) : []
  })
}

/** Judges a token of a line that one of these calls had ended. */
function tooLate(
  promise: PromiseName,
  call: Call,
  { history, own, endings }: { history: SessionHistory; own: Call; endings: readonly Call[] },
): Violation[] {
  const missed = endings.filter((end) => isBefore(end, call) && mustKnow(history, call, end))
  const end = missed.at(-1)
  if (!end) return []
  const mayHaveMissedAll = missed.every((each) => call.holder !== each.holder && call.readMs <= each.toMs)
  return [
    {
      ...violation(
        promise,
        call,
        [own, end],
        `${named(call)} returned ${tokenName(call)} after ${named(end)} had ended it.`,
      ),
      contradicts: missed,
      ...(call.reads === 'failing' && mayHaveMissedAll ? { exception: unreadable } : {}),
    },
  ]
}

function olderTokens(history: SessionHistory): Violation[] {
  const given = [...handedOut(history), ...history.signIns.filter(({ outcome, issued }) => outcome === 'ok' && issued)]
  return handedOut(history).flatMap((call) => {
    const all = given.filter(
      (before) => before.holder === call.holder && isBefore(before, call) && isOlder(history, call, before),
    )
    const [newer] = all
    if (!newer) return []
    const says = `${named(call)} returned ${tokenName(call)}, and the holder had ${tokenName(newer)} since ${named(newer)}.`
    const signIns = [call, newer].flatMap((each) => signInOf(history, each) ?? [])
    // The record of an earlier sign-in comes back if a sign-in is lost, and not if a refresh is.
    const contradicts = all.map((each) =>
      each.issued?.line === call.issued?.line ? each : (signInOf(history, each) ?? each),
    )
    return [{ ...violation('no older token', call, [...signIns, newer], says), contradicts }]
  })
}

function isOlder(history: SessionHistory, one: Call, other: Call): boolean {
  if (!one.issued || !other.issued) return false
  if (one.issued.line === other.issued.line) return one.issued.generation < other.issued.generation
  const [own, others] = [signInOf(history, one), signInOf(history, other)]
  // A sign-in that is not saved yet can be saved after a later one has ended.
  const since = { fromMs: (others ?? other).fromMs, toMs: one.toMs }
  const isLate = !own?.isSaved && (mayBeRemoved(history, [own, others], since) || isKnownToBeGone(history, others, one))
  return own !== undefined && others !== undefined && !isLate && !isByClocks(own, others) && isBefore(own, others)
}

function lostSessions(history: SessionHistory): Violation[] {
  const { calls, signIns, refused } = history
  return calls.flatMap((call) => {
    if (!foundNoSession(call)) return []
    const isCertain = (signIn: Call): boolean =>
      signIn.outcome === 'ok' &&
      isBefore(signIn, call) &&
      mustKnow(history, call, signIn) &&
      (signIn.isSaved || signIn.holder === call.holder)
    const basis = signIns.filter(isCertain).sort((one, other) => other.fromMs - one.fromMs)[0]
    if (!basis) return []
    // The refusal of an earlier line must not end a later one.
    const concerns = (line: string, { fromMs }: Call): boolean =>
      signIns.some((signIn) => signIn.issued?.line === line && signIn.toMs >= fromMs)
    const hasReason =
      mayBeRemoved(history, [basis], { fromMs: basis.fromMs, toMs: call.toMs }) ||
      mayBeRemovedLate(history, { signIn: basis, call }) ||
      refused.some(({ line, monotonicMs }) => concerns(line, basis) && monotonicMs <= call.toMs)
    if (hasReason) return []
    const says = `${named(call)} found no session, and nothing had ended ${named(basis)}.`
    return [{ ...violation('stays signed in', call, [basis], says), contradicts: [basis] }]
  })
}

function foreignTokens({ calls, signIns }: SessionHistory): Violation[] {
  const people = new Set(signIns.flatMap(({ issued }) => issued?.person ?? []))
  return calls.flatMap((call) => {
    if (call.isForeign) return [violation('own tokens', call, [], `${named(call)} has a token that was never issued.`)]
    const { issued } = call
    if (!issued || signIns.some((signIn) => signIn.issued?.line === issued.line && signIn.fromMs <= call.toMs))
      return []
    const whose = people.has(issued.person) ? 'a sign-in that was not of this session' : 'another user'
    return [violation('own tokens', call, [], `${named(call)} returned ${tokenName(call)}, a token of ${whose}.`)]
  })
}

function violation(promise: PromiseName, call: Call, before: readonly Call[], says: string): Violation {
  const evidence = [...new Set([...before, call].map(({ id }) => id))]
  return { promise, session: call.session, at: call.id, atMs: call.toMs, says, evidence, contradicts: [] }
}

/** Calls that returned a token. */
function handedOut({ calls }: SessionHistory): Call[] {
  return calls.filter(({ kind, outcome, issued }) => kind !== 'signIn' && outcome === 'ok' && issued !== undefined)
}

export function signInOf({ signIns }: SessionHistory, { issued }: Call): Call | undefined {
  return signIns.find((signIn) => signIn.issued !== undefined && signIn.issued.line === issued?.line)
}

function named({ kind, id }: Call): string {
  return `${kind} ${id}`
}

function tokenName({ issued }: Call): string {
  return `${issued?.line}.${issued?.generation}`
}
