import { revalidateAfterMs } from '../../internal/limits.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'
import type { BackendContext } from '../context.ts'
import type { LiveSession } from '../sessions/live-sessions.ts'

/**
 * Returns a function that returns whether the session has ended, for a response that is relayed for a long time. It looks at most
 * once in `revalidateAfterMs`, 1 s, and only if the API has sent something. That is a use of the session. A session whose storage
 * cannot be read continues, and so does a response whose token has expired.
 */
export function sessionCheck(
  { key, session }: Pick<LiveSession, 'key' | 'session'>,
  { config: { clock }, uses }: Pick<BackendContext, 'config' | 'uses'>,
): () => MaybePromise<boolean> {
  const hasEnded = async (): Promise<boolean> => {
    const { status, reason } = await session.ready()
    if (status === 'signed-in') await uses?.note(key)
    return status === 'signed-out' && reason !== 'expired'
  }
  let checkedAtMs = clock.monotonicMs()
  return () => {
    const nowMs = clock.monotonicMs()
    if (nowMs - checkedAtMs < revalidateAfterMs) return false
    checkedAtMs = nowMs
    return hasEnded().catch(() => false)
  }
}
