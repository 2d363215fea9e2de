import type { TenantTurns } from '../http/environment.ts'
import { apiLimits, limits } from '../limits.ts'
import { ApiError } from './api-error.ts'
import { callPacing } from './call-pacing.ts'

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
export function createTenantTurns(most: TurnLimits = limits, usedMs?: () => number): TenantTurns {
  // In the order of their turns: the tenant whose call began last is the last one.
  const loads = new Map<string, Load>()
  const scheduleNext = callPacing(() => nextCall(loads, most), usedMs)

  function loadOf(tenant: string): Load {
    const load = loads.get(tenant) ?? { running: 0, unsentBytes: 0, waiting: new Set() }
    loads.set(tenant, load)
    return load
  }
  function settle(tenant: string, load: Load): void {
    if (load.running === 0 && load.unsentBytes === 0 && load.waiting.size === 0) loads.delete(tenant)
    else scheduleNext()
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

/** Returns what begins the next call, of the first tenant in turn that has room for one. */
function nextCall(loads: ReadonlyMap<string, Load>, most: TurnLimits): (() => void) | undefined {
  for (const load of loads.values()) {
    const [begin] = load.waiting
    if (begin !== undefined && hasRoom(load, most)) return begin
  }
  return undefined
}

function hasRoom({ running, unsentBytes }: Load, most: TurnLimits): boolean {
  return running < most.tenantCallsAtOnce && unsentBytes < most.tenantUnsentBytes
}

function tooMany(): ApiError {
  const headers = { 'Retry-After': String(apiLimits.retryAfterMs / 1_000) }
  const message = 'too many calls of this tenant at once'
  return new ApiError({ status: 429, type: 'too_many_requests', message, headers })
}
