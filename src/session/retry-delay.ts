import type { AuthConfig } from '../config.ts'
import type { AgentAuthError } from '../errors.ts'
import { backoffMs } from '../internal/backoff.ts'

/**
 * The delay after a failed refresh: that of `Retry-After` (`maxRetryAfterMs`, 5 minutes at most), or half to all of a cap that
 * doubles from 0.5 s to 30 s. Until it has passed, calls that require a refresh reject with the same error, and others get the
 * current token (`refreshedToken` in access-token.ts). A successful refresh, `resume`, a sign-in and a sign-out reset it.
 */
export interface RetryDelay {
  readonly failure: AgentAuthError | undefined
  /** When the next refresh may start, on the monotonic clock. */
  readonly untilMs: number
  recordFailure(error: AgentAuthError): void
  reset(): void
}

export function retryDelay({ clock, emit }: AuthConfig): RetryDelay {
  let failures = 0
  const delay = {
    failure: undefined as AgentAuthError | undefined,
    untilMs: 0,
    recordFailure(error: AgentAuthError) {
      // Zero counts as absent, so that no refresh is repeated without a pause.
      const waitMs = error.details?.retryAfterMs || backoffMs(++failures)
      delay.failure = error
      delay.untilMs = clock.monotonicMs() + waitMs
      emit({ type: 'refresh_failed', code: error.code, waitMs })
    },
    reset() {
      failures = 0
      delay.failure = undefined
    },
  }
  return delay
}
