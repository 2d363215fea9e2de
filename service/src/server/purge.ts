import type { MiddlewareHandler } from 'hono'
import type { ServiceContext } from '../context.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { databaseFailureOf } from '../store/engine/failures.ts'
import { purge } from '../store/tables/purge.ts'

const pauseMs = 60_000

/** Cleans up at most once a minute of the service's clock, on somebody's request: no timer keeps a process alive. */
export function purgeNowAndThen({ store, clock }: ServiceContext): MiddlewareHandler<HttpEnvironment> {
  let nextMs = clock.nowMs() + pauseMs
  return async (_c, next) => {
    if (clock.nowMs() >= nextMs) {
      nextMs = clock.nowMs() + pauseMs
      // A database that cannot be written may still answer this request.
      const rows = await purge(store.db, clock.purgeMs()).catch(ignoreUnavailable)
      if (rows === 'more') nextMs = clock.nowMs()
    }
    return next()
  }
}

function ignoreUnavailable(error: unknown): undefined {
  if (databaseFailureOf(error) === 'other') throw error
}
