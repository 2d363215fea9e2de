import timers from 'node:timers'
import type { TenantTurns } from '../http/environment.ts'
import { apiLimits, limits, serverLimits } from '../limits.ts'
import { ApiError } from './api-error.ts'

type TurnLimits = {
  readonly [Name in 'tenantCallsAtOnce' | 'tenantCallsWaiting' | 'tenantWaitMs' | 'tenantUnsentBytes']: number
}

interface Load {
  running: number
  unsentBytes: number
  /** Each function begins one call. */
  readonly waiting: Set<() => void>
}

/** Begins calls one at a time, the tenants by turns, so that calls of one tenant do not hold up others. */
export function createTenantTurns(most: TurnLimits = limits, usedMs: () => number = processorMs): TenantTurns {
  // In the order of their turns: the tenant whose call began last is the last one.
  const loads = new Map<string, Load>()
  let isNextDue = false

  function loadOf(tenant: string): Load {
    const load = loads.get(tenant) ?? { running: 0, unsentBytes: 0, waiting: new Set() }
    loads.set(tenant, load)
    return load
  }
  function settle(tenant: string, load: Load): void {
    if (load.running === 0 && load.unsentBytes === 0 && load.waiting.size === 0) loads.delete(tenant)
    else scheduleNext()
  }
  function nextCall(): (() => void) | undefined {
    for (const load of loads.values()) {
      const [begin] = load.waiting
      if (begin !== undefined && hasRoom(load, most)) return begin
    }
    return undefined
  }
  /**
   * Leaves the event loop to other requests first. It accepts one connection a turn and reads it in the next turn, and all
   * queries of a call of libSQL run in one turn: without pauses, calls whose requests arrived together run one after the
   * other before any other request.
   */
  function scheduleNext(heldMs = 0): void {
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
  function turnOf(tenant: string, load: Load): Promise<void> {
    if (load.running + load.waiting.size >= most.tenantCallsAtOnce + most.tenantCallsWaiting) throw tooMany()
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        load.waiting.delete(begin)
        settle(tenant, load)
        reject(tooMany())
      }, most.tenantWaitMs)
      function begin(): void {
        clearTimeout(timer)
        load.waiting.delete(begin)
        load.running += 1
        loads.delete(tenant)
        loads.set(tenant, load)
        resolve()
      }
      load.waiting.add(begin)
      scheduleNext()
    })
  }
  return {
    async run(tenant, task) {
      const load = loadOf(tenant)
      await turnOf(tenant, load)
      try {
        return await task()
      } finally {
        load.running -= 1
        settle(tenant, load)
      }
    },
    holdBytes(tenant, bytes) {
      const load = loadOf(tenant)
      let held = bytes
      load.unsentBytes += held
      return () => {
        load.unsentBytes -= held
        held = 0
        settle(tenant, load)
      }
    },
    get size() {
      return loads.size
    },
  }
}

/** Returns processor time, because on a busy machine a quick call can take long. */
function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

function hasRoom({ running, unsentBytes }: Load, most: TurnLimits): boolean {
  return running < most.tenantCallsAtOnce && unsentBytes < most.tenantUnsentBytes
}

function tooMany(): ApiError {
  const headers = { 'Retry-After': String(apiLimits.retryAfterMs / 1_000) }
  const message = 'too many calls of this tenant at once'
  return new ApiError({ status: 429, type: 'too_many_requests', message, headers })
}
