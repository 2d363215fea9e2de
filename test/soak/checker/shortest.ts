import type { HistoryEvent } from './history.ts'
import type { Violation } from './promises.ts'

/**
 * Returns the shortest part of a history that still shows this violation: the calls it follows from, what the service issued
 * for their tokens, and the refusal, if it is one.
 */
export function shortest(events: readonly HistoryEvent[], { evidence, refusal }: Violation): HistoryEvent[] {
  const calls = new Set(evidence)
  const isOfCall = (event: HistoryEvent): boolean =>
    (event.type === 'invoked' || event.type === 'completed') && calls.has(event.call)
  const tokens = new Set(events.flatMap((event) => (isOfCall(event) && 'token' in event ? (event.token ?? []) : [])))
  const taken = new Set<string>()
  const isNeeded = (event: HistoryEvent): boolean => {
    if (event.type === 'refused') return event === refusal
    if (event.type !== 'issued') return isOfCall(event)
    const isFirstUse =
      refusal?.line === event.line && event.generation === refusal.generation + 1 && event.how === 'rotated'
    if (!(tokens.has(event.access) || isFirstUse) || taken.has(event.access)) return false
    // A repeated answer with the same token shows nothing more.
    taken.add(event.access)
    return true
  }
  const inOrder = [...events].sort((one, other) => one.monotonicMs - other.monotonicMs)
  return inOrder.filter(isNeeded)
}
