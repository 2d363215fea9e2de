import { succeedsOrThrowsBug } from '../../internal/timeouts.ts'
import { decodeRecord, isRecord, type SessionRecord } from '../../session/record.ts'
import { SessionStore } from '../../session/store.ts'
import type { BackendEvent } from '../events.ts'
import type { LastUses } from './last-use.ts'
import type { Endings } from './not-before.ts'
import { type RevocationTarget, revoke } from './revocation.ts'
import type { LockedStorage } from './watched-storage.ts'

interface Validity extends RevocationTarget {
  readonly endings: Endings
  /** Undefined if no session ends for lack of use. */
  readonly uses: LastUses | undefined
  emit(event: BackendEvent): void
}

/**
 * Returns a storage that shows no record of a session that is over. For a session in memory this is a sign-out elsewhere: it ends, and
 * saves nothing that a refresh in progress brings. An idle session is only hidden, because the clock of this machine may be wrong.
 */
export function validSessions(watched: LockedStorage, { endings, uses, emit, ...target }: Validity): LockedStorage {
  /** Removes the record of an ended session and revokes its refresh token. If the storage fails, the next request tries again. */
  async function removeEnded(name: string, { id }: SessionRecord): Promise<void> {
    const store = new SessionStore(watched, name)
    let removed: SessionRecord | undefined
    // Under the lock, because a refresh in progress may still replace the token to revoke.
    const remove = async (): Promise<void> => {
      const stored = await store.read()
      if (!isRecord(stored) || stored.id !== id) return
      await store.remove()
      removed = stored
    }
    await succeedsOrThrowsBug(() => store.locked(remove))
    if (removed) emit({ type: 'ended_session_removed', ...(await revoke(target, [removed.tokens.refreshToken])) })
  }

  return {
    ...watched,
    async getItem(name) {
      const raw = await watched.getItem(name)
      const record = decodeRecord(name, raw)
      if (!isRecord(record)) return raw
      if (await endings.isOver(record)) {
        void removeEnded(name, record)
        return null
      }
      return (await uses?.isIdle(name, record)) ? null : raw
    },
    async removeItem(name) {
      await watched.removeItem(name)
      await uses?.forget(name)
    },
  }
}
