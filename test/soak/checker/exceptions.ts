import type { Fault, Issued, Refused } from './history.ts'
import { signInOf, type Violation } from './promises.ts'
import type { Call, SessionHistory } from './sessions.ts'

/** The time in which the storage may have lost writes that it had confirmed. */
interface LossWindow extends Span {
  readonly name: string
}

/**
 * The exception of a process whose tokens the storage did not take: others sent the refresh token before, or a failed save that had
 * perhaps taken effect was followed by an empty storage.
 */
export const unsaved = 'a sign-in or refresh could not be saved'

/** The exception of a refresh that the service handled when its process had given up and another one had refreshed. */
export const late = 'the service handled a refresh too late'

/** How long a process waits for a token request, and how long the service accepts a refresh token again, in milliseconds. */
const [givesUpMs, graceMs] = [10_000, 30_000]

interface Span {
  readonly fromMs: number
  readonly toMs: number
}

/**
 * Names the exception of a violation that faults explain: each write that it contradicts was confirmed while a fault could lose it.
 * A reuse of a refresh token is explained until the next save after the fault is confirmed.
 */
export function withException(violation: Violation, history: SessionHistory): Violation {
  if (violation.exception !== undefined) return violation
  if (isOfUnsaved(violation, history)) return { ...violation, exception: unsaved }
  if (isOfLateHandling(violation, history)) return { ...violation, exception: late }
  const windows = lossWindows(history.faults).filter(({ toMs }) => !isOver(violation, history, toMs))
  const found = writesOf(violation, history).map((write) =>
    windows.find(({ fromMs, toMs }) => write.toMs >= fromMs && write.fromMs <= toMs),
  )
  const [first] = found
  return first && !found.includes(undefined) ? { ...violation, exception: `writes lost by ${first.name}` } : violation
}

/**
 * Returns whether another holder used a refresh token again because none that followed it was saved. Nothing is known if a sign-in
 * was saved, and not when.
 */
function isOfUnsaved({ contradicts, refusal, atMs }: Violation, history: SessionHistory): boolean {
  const [call] = contradicts
  if (call?.kind === 'signIn' && !call.isSaved)
    return (
      wereReadsFailing(history, call.holder, { fromMs: call.toMs, toMs: atMs }) &&
      untilSaved(call.fromMs, history).toMs > atMs
    )
  const next = nextIssued(refusal, history)
  if (!next || !isOfOtherHolder(refusal, history)) return false
  const areSavesKnown = history.savedMs.length > 0 || !history.signIns.some(({ isSaved }) => isSaved)
  return areSavesKnown && untilSaved(next.monotonicMs, history).toMs > atMs
}

/** Returns whether the tokens that followed a refresh token were sent to other holders alone. False if a holder is not recorded. */
function isOfOtherHolder(refusal: Refused | undefined, { issued }: SessionHistory): boolean {
  const later = issued.filter(({ line, generation }) => line === refusal?.line && generation > refusal.generation)
  return refusal?.holder !== undefined && later.every(({ holder }) => holder !== undefined && holder !== refusal.holder)
}

/** Returns whether the service would have accepted a refresh token when it was sent, and handled it when its process had given up. */
function isOfLateHandling({ refusal, atMs }: Violation, history: SessionHistory): boolean {
  const next = nextIssued(refusal, history)
  const { process, sentMs } = refusal ?? {}
  if (!next || process === undefined || sentMs === undefined || atMs - sentMs <= givesUpMs) return false
  // A process that stood still may have sent the request long after it noted the time.
  if (hasStoodStill(history, process, { fromMs: sentMs, toMs: atMs })) return false
  const usedMs = nextIssued(next, history)?.monotonicMs ?? Number.POSITIVE_INFINITY
  return sentMs < Math.min(next.monotonicMs + graceMs, usedMs)
}

function hasStoodStill({ stalls }: SessionHistory, of: string, { fromMs, toMs }: Span): boolean {
  return stalls.some(
    ({ process, monotonicMs, forMs }) => process === of && monotonicMs > fromMs && monotonicMs - forMs < toMs,
  )
}

function wereReadsFailing({ calls }: SessionHistory, holder: string, { fromMs, toMs }: Span): boolean {
  return calls.some(
    (call) => call.holder === holder && call.reads === 'failing' && call.toMs >= fromMs && call.toMs <= toMs,
  )
}

function nextIssued(
  token: Pick<Issued, 'line' | 'generation'> | undefined,
  { issued }: SessionHistory,
): Issued | undefined {
  return issued.find(({ line, generation }) => line === token?.line && generation === token.generation + 1)
}

function isOver({ refusal, atMs }: Violation, { savedMs }: SessionHistory, endedMs: number): boolean {
  return refusal !== undefined && savedMs.some((ms) => ms > endedMs && ms < atMs)
}

/** When the writes were made that a violation contradicts, each from its beginning to its confirmation. */
function writesOf({ contradicts, refusal }: Violation, history: SessionHistory): Span[] {
  const next = nextIssued(refusal, history)
  return [
    ...contradicts.map((call) => writeOf(call, history)),
    ...(next ? [untilSaved(next.monotonicMs, history)] : []),
  ]
}

function writeOf(call: Call, history: SessionHistory): Span {
  const { kind, fromMs, toMs, isSaved, issued } = call
  if (kind === 'signOut' || (kind === 'signIn' && isSaved)) return { fromMs, toMs }
  if (kind === 'signIn' || !issued) return untilSaved(fromMs, history)
  const signIn = signInOf(history, call)
  const isFirst = signIn !== undefined && signIn.issued?.access === issued.access
  return isFirst ? writeOf(signIn, history) : untilSaved(issued.monotonicMs, history)
}

/** The next confirmed save of the session may be that of its latest token, or of one that replaced it. */
function untilSaved(fromMs: number, { savedMs }: SessionHistory): Span {
  return { fromMs, toMs: savedMs.find((ms) => ms >= fromMs) ?? Number.POSITIVE_INFINITY }
}

function lossWindows(faults: readonly Fault[]): LossWindow[] {
  return faults.flatMap(({ name, phase, monotonicMs, losesSinceMs }) => {
    if (phase !== 'begins' || losesSinceMs === undefined) return []
    const end = faults.find((each) => each.name === name && each.phase === 'ends' && each.monotonicMs >= monotonicMs)
    return [{ name, fromMs: monotonicMs - losesSinceMs, toMs: end?.monotonicMs ?? Number.POSITIVE_INFINITY }]
  })
}

/** How many sessions the faults of a history may cost: of 10,000 the number that each names, rounded up over all. */
export function allowedLosses(faults: readonly Fault[], sessions: number): number {
  const share = faults.reduce((sum, { phase, mayCost = 0 }) => sum + (phase === 'begins' ? mayCost : 0), 0)
  return Math.ceil((share * sessions) / 10_000)
}

/** How many sessions the service may handle too late: one in 100, rounded up. With more, the machine was too busy to show anything. */
export function allowedLate(sessions: number): number {
  return Math.ceil(sessions / 100)
}
