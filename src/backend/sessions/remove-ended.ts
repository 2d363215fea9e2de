import { succeedsOrThrowsBug } from '../../internal/timeouts.ts'
import { isRecord, type SessionRecord } from '../../session/record.ts'
import { sessionStore } from '../../session/store.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'
import type { BackendEvent } from '../events.ts'
import { revokeAll } from './revocation.ts'
import type { RevocationTarget } from './revocation-request.ts'
import type { LockedStorage } from './watched-storage.ts'

/** Removes the record of a session that has ended, and revokes its tokens. Never rejects: the next request tries again. */
export type RemoveEnded = (name: string, isEnded: (record: SessionRecord) => MaybePromise<boolean>) => Promise<void>

interface RemovalParts extends RevocationTarget {
  /** Shows ended sessions as well. */
  readonly sessions: LockedStorage
  emit(event: BackendEvent): void
}

/** Returns a function that removes ended sessions, each in one process, which emits `ended_session_removed`. */
export function endedRemoval({ sessions, emit, ...target }: RemovalParts): RemoveEnded {
  const removing = new Set<string>()
  return async (name, isEnded) => {
    if (removing.has(name)) return
    removing.add(name)
    const store = sessionStore(sessions, name)
    let removed: SessionRecord | undefined
    // Under the lock, because a refresh in progress may still replace the tokens to revoke.
    await succeedsOrThrowsBug(() =>
      store.locked(async () => {
        const stored = await store.read()
        if (!isRecord(stored) || !(await isEnded(stored))) return
        await store.remove()
        removed = stored
      }),
    ).finally(() => removing.delete(name))
    if (!removed) return
    const { refreshToken } = removed.tokens
    const refreshTokens = refreshToken === undefined ? [] : [refreshToken]
    emit({ type: 'ended_session_removed', ...(await revokeAll(target, { refreshTokens, otherTokens: 'none' })) })
  }
}
