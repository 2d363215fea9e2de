import { setImmediate as nextTurn } from 'node:timers/promises'
import { apiLimits, limits } from '../limits.ts'
import { ApiError } from './envelope.ts'

/** Lets some calls of one tenant be in progress at a time, so that its searches do not hold up other tenants. */
export interface TenantGate {
  /** Waits for a place and returns the function that frees it. Rejects with 429 if too many calls of the tenant wait. */
  enter(tenant: string): Promise<() => void>
}

export function createTenantGate(): TenantGate {
  const calls = new Map<string, { inProgress: number; waiting: (() => void)[] }>()
  let begun = Promise.resolve()

  return {
    async enter(tenant) {
      const own = calls.get(tenant) ?? { inProgress: 0, waiting: [] }
      calls.set(tenant, own)
      if (own.waiting.length >= limits.tenantCallsWaiting) throw tooMany()
      if (own.inProgress < limits.tenantCallsAtOnce) own.inProgress += 1
      else await new Promise<void>((begin) => own.waiting.push(begin))
      // Queries of libSQL hold the event loop, so one call begins in each of its turns, and other requests come between.
      begun = begun.then(() => nextTurn())
      await begun
      return () => {
        const next = own.waiting.shift()
        if (next === undefined) own.inProgress -= 1
        else next()
        if (own.inProgress === 0) calls.delete(tenant)
      }
    },
  }
}

function tooMany(): ApiError {
  const headers = { 'Retry-After': String(apiLimits.retryAfterMs / 1_000) }
  const message = 'too many calls of this tenant at once'
  return new ApiError({ status: 429, type: 'too_many_requests', message, headers })
}
