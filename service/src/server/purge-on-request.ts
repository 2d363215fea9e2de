import type { MiddlewareHandler } from 'hono'
import type { ServiceContext } from '../context.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { serverLimits } from '../limits.ts'
import { databaseFailureOf } from '../store/engine/failures.ts'
import { purge } from '../store/purge.ts'

/**
 * Purges expired data on a request, after a pause by the service's clock (`purgePauseMs`, 1 minute). A timer would keep a process
 * alive. `purge` says which rows stay longer: used codes and rotated refresh tokens, until their authorization has expired.
 */
export function purgeOnRequest({ store, clock }: ServiceContext): MiddlewareHandler<HttpEnvironment> {
  let nextMs = clock.nowMs() + serverLimits.purgePauseMs
  return async (_c, next) => {
    if (clock.nowMs() >= nextMs) {
      nextMs = clock.nowMs() + serverLimits.purgePauseMs
      // A database that cannot be written to may still be read by this request.
      const rows = await purge(store.db, clock.purgeMs()).catch(ignoreUnavailable)
      if (rows === 'more') nextMs = clock.nowMs()
    }
    return next()
  }
}

function ignoreUnavailable(error: unknown): undefined {
  if (databaseFailureOf(error) === 'other') throw error
}
