import type { TenantTurns } from '../http/hono-environment.ts'
import { apiLimits, limits, serverLimits } from '../limits.ts'
import type { Pause } from '../store/tables/tenant/checked-search.ts'
import { ApiError } from './api-error.ts'
import { callPacing, processorMs } from './call-pacing.ts'

type TurnLimits = {
  readonly [Name in 'tenantCallsAtOnce' | 'tenantCallsWaiting' | 'tenantWaitMs' | 'tenantUnsentBytes']: number
}

interface Load {
  running: number
  unsentBytes: number
  /** Each function begins a call, or lets one that paused go on. */
  readonly waiting: Map<() => void, 'begin' | 'go-on'>
}

/**
 * Begins and continues calls of this process one at a time, the tenants by turns, so that calls of one tenant do not hold up others
 * . Of one
 * tenant, some run (`tenantCallsAtOnce`, 4) and some wait (`tenantCallsWaiting`, 1,000, each for `tenantWaitMs`, 15 s). None begins while
 * its clients have not received `tenantUnsentBytes`, 32 MiB of responses. The others get 429.
 */
export function createTenantTurns(most: TurnLimits = limits, usedMs: () => number = processorMs): TenantTurns {
  // In the order of their turns: the tenant whose call began last is the last one.
  const loads = new Map<string, Load>()
  const scheduleNext = callPacing(() => nextCall(loads, most), usedMs)

  function loadOf(tenant: string): Load {
    const load = loads.get(tenant) ?? { running: 0, unsentBytes: 0, waiting: new Map() }
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
      const begin = enqueue(loads, { tenant, load, kind: 'begin' }, () => {
        clearTimeout(timer)
        load.running += 1
        resolve()
      })
      const timer = setTimeout(() => {
        load.waiting.delete(begin)
        settle(tenant, load)
        reject(tooMany())
      }, most.tenantWaitMs)
      scheduleNext()
    })
  }
  function goOnLater(tenant: string, load: Load, goOn: () => void): void {
    enqueue(loads, { tenant, load, kind: 'go-on' }, goOn)
    scheduleNext()
  }
  return {
    async run(tenant, task) {
      const load = loadOf(tenant)
      await turnOf(tenant, load)
      try {
        return await task(pauseAfterSlice((goOn) => goOnLater(tenant, load, goOn), usedMs))
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
    load: () => totalOf([...loads.values()]),
  }
}

function totalOf(loads: readonly Load[]): ReturnType<TenantTurns['load']> {
  const total = (of: (load: Load) => number): number => loads.reduce((sum, load) => sum + of(load), 0)
  return {
    tenants: loads.length,
    running: total(({ running }) => running),
    waiting: total(({ waiting }) => waiting.size),
  }
}

/** Returns a function that waits for the next turn if the call has used processor time (`sliceMs`, 20 ms) since its last one. */
function pauseAfterSlice(atNextTurn: (goOn: () => void) => void, usedMs: () => number): Pause {
  let sinceMs = usedMs()
  return async () => {
    if (usedMs() - sinceMs < serverLimits.sliceMs) return
    await new Promise<void>(atNextTurn)
    sinceMs = usedMs()
  }
}

/** Adds a call to those that wait and returns the function that gives it its turn. That moves its tenant to the end. */
function enqueue(
  loads: Map<string, Load>,
  { tenant, load, kind }: { tenant: string; load: Load; kind: 'begin' | 'go-on' },
  run: () => void,
): () => void {
  function go(): void {
    load.waiting.delete(go)
    loads.delete(tenant)
    loads.set(tenant, load)
    run()
  }
  load.waiting.set(go, kind)
  return go
}

/** Returns what begins or continues a call, of the first tenant in turn that has one. Only a new call needs room. */
function nextCall(loads: ReadonlyMap<string, Load>, most: TurnLimits): (() => void) | undefined {
  for (const load of loads.values()) {
    for (const [go, kind] of load.waiting) if (kind === 'go-on' || hasRoom(load, most)) return go
  }
  return undefined
}

function hasRoom({ running, unsentBytes }: Load, most: TurnLimits): boolean {
  return running < most.tenantCallsAtOnce && unsentBytes < most.tenantUnsentBytes
}

/** Creates the 429, with `Retry-After` of `apiLimits.retryAfterMs`, 1 s. */
function tooMany(): ApiError {
  const headers = { 'Retry-After': String(apiLimits.retryAfterMs / 1_000) }
  const message = 'too many calls of this tenant at once'
  return new ApiError({ status: 429, type: 'too_many_requests', message, headers })
}
