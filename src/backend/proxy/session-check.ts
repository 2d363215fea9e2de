import { revalidateAfterMs } from '../../internal/limits.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'
import type { BackendContext } from '../context.ts'
import type { LiveSession } from '../sessions/live-sessions.ts'

/**
 * Returns a function that tells whether the session of a relayed response has ended. The relay (response-body.ts) calls it when the API has
 * sent a chunk. The function reads the session at most once in `revalidateAfterMs`, 1 s. A read that finds the user signed in counts as a
 * use. The function returns false also if the storage cannot be read, or if only the access token has expired.
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
