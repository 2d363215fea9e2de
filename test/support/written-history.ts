import type { CallKind, Completed, Fault, HistoryEvent, Invoked, Refused } from '../soak/checker/history.ts'

/** One call of a history that a test writes. Times are in milliseconds. */
export interface WrittenCall {
  readonly kind: CallKind
  readonly holder: string
  readonly session?: string
  readonly fromMs: number
  /** How far the wall clock of its process is ahead. */
  readonly aheadMs?: number
  /** Absent: it never completed. */
  readonly toMs?: number
  /** `line.generation`, which is also its fingerprint. */
  readonly token?: string
  /** Default `ok`. */
  readonly outcome?: string
  readonly saved?: boolean
  readonly readMs?: number
  readonly savedMs?: number
  readonly writeMs?: number
  readonly reads?: Completed['reads']
}

/** Returns a call that began with a read and took 10 ms. */
export function writtenCall(
  kind: WrittenCall['kind'],
  holder: string,
  fromMs: number,
  more: Partial<WrittenCall>,
): WrittenCall {
  return { kind, holder, fromMs, toMs: fromMs + 10, readMs: fromMs, ...more }
}

/** Writes a history by its calls. What the service issued follows from their tokens, a millisecond before each. */
export function writtenHistory(calls: readonly WrittenCall[], rest: readonly HistoryEvent[] = []): HistoryEvent[] {
  const issued = new Set<string>()
  const events = calls.flatMap((call, index): HistoryEvent[] => {
    const own = callEvents(call, `${index}`)
    if (call.token === undefined || issued.has(call.token)) return own
    issued.add(call.token)
    return [tokenIssued(call.token, call.fromMs - 1, call.holder), ...own]
  })
  return [...events, ...rest]
}

function callEvents(call: WrittenCall, id: string): HistoryEvent[] {
  const {
    kind,
    holder,
    session = 'record',
    fromMs,
    toMs,
    token,
    outcome = 'ok',
    saved,
    readMs,
    savedMs,
    writeMs,
    reads,
  } = call
  const given = kind === 'signIn' && token !== undefined ? { token } : {}
  const returned = kind !== 'signIn' && token !== undefined ? { token } : {}
  const process = holder.split('/')[0] ?? ''
  const invoked: Invoked = {
    type: 'invoked',
    call: id,
    kind,
    process,
    holder,
    session,
    ...given,
    ...at(fromMs, call.aheadMs),
  }
  if (toMs === undefined) return [invoked]
  const known = {
    ...(saved === undefined ? {} : { saved }),
    ...(readMs === undefined ? {} : { readMs }),
    ...(savedMs === undefined ? {} : { savedMs }),
    ...(writeMs === undefined ? {} : { writeMs }),
    ...(reads === undefined ? {} : { reads }),
  }
  return [invoked, { type: 'completed', call: id, outcome, ...returned, ...known, ...at(toMs) }]
}

/** A token of a user who is named like the first letter of the line. */
function tokenIssued(token: string, ms: number, holder: string): HistoryEvent {
  const [line = '', generation = '0'] = token.split('.')
  const how = generation === '0' ? 'sign-in' : 'rotated'
  const person = line[0] ?? ''
  return { type: 'issued', line, generation: Number(generation), how, person, access: token, holder, ...at(ms) }
}

export function tokenRefused(
  token: string,
  why: Refused['why'],
  ms: number,
  more: Pick<Refused, 'process' | 'holder' | 'sentMs'> = {},
): HistoryEvent {
  const [line = '', generation] = token.split('.')
  return { type: 'refused', line, generation: Number(generation), why, ...more, ...at(ms) }
}

/** A fault that lasts from one time to another. */
export function fault(name: string, [fromMs, toMs]: [number, number], more: Partial<Fault> = {}): HistoryEvent[] {
  return [
    { type: 'fault', name, phase: 'begins', ...more, ...at(fromMs) },
    { type: 'fault', name, phase: 'ends', ...at(toMs) },
  ]
}

function at(monotonicMs: number, aheadMs = 0): { monotonicMs: number; wallMs: number } {
  return { monotonicMs, wallMs: 1_800_000_000_000 + monotonicMs + aheadMs }
}
