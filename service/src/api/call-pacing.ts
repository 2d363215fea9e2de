import timers from 'node:timers'
import { serverLimits } from '../limits.ts'

/**
 * Returns a function that begins or continues the calls that wait, one at a time, until `nextCall` returns none. It leaves the
 * event loop to other requests between them. The loop accepts one connection a turn and reads it in the next turn, and all
 * queries of a call of libSQL run in one turn, up to its next pause: without pauses, calls whose requests arrived together run one
 * after the other before any other request. After a call that took `quickCallMs`, 5 ms, or more, it pauses for as long (`pauseMs`,
 * 250 ms at most). `usedMs` measures a call.
 */
export function callPacing(nextCall: () => (() => void) | undefined, usedMs: () => number): () => void {
  let isNextDue = false

  function scheduleNext(heldMs: number): void {
    if (isNextDue || nextCall() === undefined) return
    isNextDue = true
    if (heldMs < serverLimits.quickCallMs) timers.setImmediate(() => timers.setImmediate(beginNext))
    else timers.setTimeout(beginNext, Math.min(heldMs, serverLimits.pauseMs))
  }
  function beginNext(): void {
    const beforeMs = usedMs()
    nextCall()?.()
    // A tick runs once no microtask is left, and by then the queries of libSQL have run.
    queueMicrotask(() => process.nextTick(pauseAfter, beforeMs))
  }
  function pauseAfter(beforeMs: number): void {
    isNextDue = false
    scheduleNext(usedMs() - beforeMs)
  }
  return () => scheduleNext(0)
}

/** Returns processor time, because on a busy machine a quick call can take long. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
