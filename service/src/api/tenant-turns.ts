import type { TenantTurns } from '../http/environment.ts'
import { apiLimits, limits } from '../limits.ts'
import { ApiError } from './api-error.ts'

type TurnLimits = {
  readonly [Name in 'tenantCallsAtOnce' | 'tenantCallsWaiting' | 'tenantWaitMs' | 'tenantUnsentBytes']: number
}

interface Load {
  running: number
  unsentBytes: number
  /** Each function lets one call run. */
  waiting: Set<() => void>
}

/** Keeps the calls of one tenant from holding up those of others. */
export function createTenantTurns(most: TurnLimits = limits): TenantTurns {
  const loads = new Map<string, Load>()

  function loadOf(tenant: string): Load {
    const load = loads.get(tenant) ?? { running: 0, unsentBytes: 0, waiting: new Set() }
    loads.set(tenant, load)
    return load
  }
  function settle(tenant: string, load: Load): void {
    for (const admit of load.waiting) {
      if (!hasRoom(load, most)) break
      admit()
    }
    if (load.running === 0 && load.unsentBytes === 0 && load.waiting.size === 0) loads.delete(tenant)
  }
  function admission(load: Load): Promise<void> {
    if (load.waiting.size >= most.tenantCallsWaiting) throw tooMany()
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        load.waiting.delete(admit)
        reject(tooMany())
      }, most.tenantWaitMs)
      function admit(): void {
        clearTimeout(timer)
        load.waiting.delete(admit)
        load.running += 1
        // Queries of libSQL end within one turn of the event loop, and so would all calls that wait.
        setImmediate(resolve)
      }
      load.waiting.add(admit)
    })
  }
  return {
    async run(tenant, task) {
      const load = loadOf(tenant)
      if (hasRoom(load, most)) load.running += 1
      else await admission(load)
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

function hasRoom({ running, unsentBytes }: Load, most: TurnLimits): boolean {
  return running < most.tenantCallsAtOnce && unsentBytes < most.tenantUnsentBytes
}

function tooMany(): ApiError {
  const headers = { 'Retry-After': String(apiLimits.retryAfterMs / 1_000) }
  const message = 'too many calls of this tenant at once'
  return new ApiError({ status: 429, type: 'too_many_requests', message, headers })
}
