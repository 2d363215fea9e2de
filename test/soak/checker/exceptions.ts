import type { Fault } from './history.ts'
import type { Violation } from './promises.ts'
import type { SessionHistory } from './sessions.ts'

/** The time in which the storage may have lost writes that it had confirmed. */
interface LossWindow {
  readonly name: string
  readonly fromMs: number
  /** When it began to show. */
  readonly beginsMs: number
  readonly toMs: number
}

/**
 * Names the exception of a violation that a fault explains: the fault loses confirmed writes, the violation came after its
 * beginning, and the session had a confirmed write that may be among them.
 */
export function withException(violation: Violation, history: SessionHistory): Violation {
  if (violation.exception !== undefined || violation.promise === 'own tokens') return violation
  const window = lossWindows(history.faults).find(
    (each) => violation.atMs >= each.beginsMs && writesMs(history).some((ms) => ms >= each.fromMs && ms <= each.toMs),
  )
  return window ? { ...violation, exception: `writes lost by ${window.name}` } : violation
}

function writesMs({ signIns, signOuts, issued }: SessionHistory): number[] {
  const calls = [...signIns, ...signOuts].filter(({ outcome }) => outcome === 'ok')
  return [...calls.map(({ toMs }) => toMs), ...issued.map(({ monotonicMs }) => monotonicMs)]
}

function lossWindows(faults: readonly Fault[]): LossWindow[] {
  return faults.flatMap(({ name, phase, monotonicMs, losesSinceMs }) => {
    if (phase !== 'begins' || losesSinceMs === undefined) return []
    const end = faults.find((each) => each.name === name && each.phase === 'ends' && each.monotonicMs >= monotonicMs)
    const toMs = end?.monotonicMs ?? Number.POSITIVE_INFINITY
    return [{ name, fromMs: monotonicMs - losesSinceMs, beginsMs: monotonicMs, toMs }]
  })
}

/** How many sessions the faults of a history may cost: of 10,000 the number that each names, rounded up over all. */
export function allowedLosses(faults: readonly Fault[], sessions: number): number {
  const share = faults.reduce((sum, { phase, mayCost = 0 }) => sum + (phase === 'begins' ? mayCost : 0), 0)
  return Math.ceil((share * sessions) / 10_000)
}
