import type { Clock } from '../../internal/clock.ts'
import { revalidateAfterMs } from '../../internal/limits.ts'
import type { Session } from '../../session.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'

/**
 * Returns a function that returns whether the session has ended, for a response that is relayed for a long time. It looks once
 * a second at most. A session whose storage cannot be read continues, and so does a response whose token has expired.
 */
export function sessionCheck(session: Session, clock: Clock): () => MaybePromise<boolean> {
  let checkedAtMs = clock.monotonicMs()
  return () => {
    const nowMs = clock.monotonicMs()
    if (nowMs - checkedAtMs < revalidateAfterMs) return false
    checkedAtMs = nowMs
    return session.ready().then(
      ({ status, reason }) => status === 'signed-out' && reason !== 'expired',
      () => false,
    )
  }
}
