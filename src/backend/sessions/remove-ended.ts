import { succeedsOrThrowsBug } from '../../internal/timeouts.ts'
import { isRecord, type SessionRecord } from '../../session/record.ts'
import { sessionStore } from '../../session/store.ts'
import type { BackendEvent, EndedSessionRemovedEvent } from '../events.ts'
import type { LastUses } from './last-use.ts'
import { revokeAll } from './revocation.ts'
import type { RevocationTarget } from './revocation-request.ts'
import type { LockedStorage } from './storage-failure-events.ts'

/** Removes the record of a session that has ended, and revokes its tokens. If the storage fails, the next request tries again. */
export type RemoveEnded = (name: string, ended: EndedSession) => Promise<void>

/** A session whose record a process hides, because it has ended. */
export interface EndedSession {
  readonly reason: EndedSessionRemovedEvent['reason']
  /**
   * The id of its sign-in. A record with another id stays. Nothing else is compared under the lock. An ending cannot be undone. An
   * idle session is removed even if another process has used it meanwhile, because it has ended in this process already.
   */
  readonly id: string
}

interface RemovalParts extends RevocationTarget {
  /** Shows ended sessions as well. */
  readonly allSessions: LockedStorage
  readonly uses: LastUses | undefined
  emit(event: BackendEvent): void
}

/**
 * Returns a function that removes ended sessions. If several processes find the same one, only one removes it, and emits
 * `ended_session_removed`.
 */
export function endedRemoval({ allSessions, uses, emit, ...target }: RemovalParts): RemoveEnded {
  const removing = new Set<string>()
  return async (name, { reason, id }) => {
    if (removing.has(name)) return
    removing.add(name)
    const store = sessionStore(allSessions, name)
    let removed: SessionRecord | undefined
    // Under the lock, because a refresh in progress may still replace the tokens to revoke.
    await succeedsOrThrowsBug(() =>
      store.locked(async () => {
        const stored = await store.read()
        if (!isRecord(stored) || stored.id !== id) return
        await store.remove()
        await uses?.forget(name)
        removed = stored
      }),
    ).finally(() => removing.delete(name))
    if (!removed) return
    const { refreshToken } = removed.tokens
    const refreshTokens = refreshToken === undefined ? [] : [refreshToken]
    emit({
      type: 'ended_session_removed',
      reason,
      ...(await revokeAll(target, { refreshTokens, otherTokens: 'none' })),
    })
  }
}
