import type { AuthConfig } from '../../config.ts'
import { isAgentAuthError } from '../../errors.ts'
import { succeedsOrThrowsBug } from '../../internal/timeouts.ts'
import { lockTimeout } from '../../session/errors.ts'
import { isRecord, type Stored } from '../../session/record.ts'
import { SessionStore, tryRead } from '../../session/store.ts'
import type { Session } from '../../session.ts'
import { type LockWait, runLocked } from '../../storage/lock.ts'
import type { BackendContext } from '../context.ts'
import type { BackendEvent } from '../events.ts'
import { type RevocationResult, revoke } from './revocation.ts'
import type { LockedStorage } from './watched-storage.ts'

/** How long a logout waits for a refresh in progress in any process. A usual refresh takes less. */
const refreshWait: LockWait = { maxWaitMs: 1_000, timedOut: lockTimeout }

/**
 * Ends a session: waits for the lock of its record, so that no refresh replaces the token to revoke, reads, removes and revokes. If the
 * lock is not free in time, the session ends all the same, and a token that the refresh brings may stay valid. `onEnded` gets the outcome
 * of the revocation, also if the call then rejects with `storage_failed` because the record may remain. It is not called if there is no
 * such session.
 */
export async function endSession(
  context: BackendContext,
  key: string,
  onEnded: (result: RevocationResult) => void,
): Promise<void> {
  const { sessions, live } = context
  await live.use(key, async ({ name, session, tokens }) => {
    // So that invented cookies cost the storage no lock and no write.
    if (await neverHadUser(session)) return
    const store = new SessionStore(sessions, name)
    let stored: Stored | undefined
    let isLocked = false
    const readAndRemove = async (): Promise<void> => {
      isLocked = true
      stored = await tryRead(store)
      // Before the lock is free, because the next owner would refresh it.
      if (isRecord(stored)) await succeedsOrThrowsBug(() => store.remove())
    }
    await succeedsOrThrowsBug(() => runLocked(sessions, name, readAndRemove, refreshWait))
    if (isLocked && stored === 'absent' && !tokens()) return
    if (!isLocked) stored = await tryRead(store)
    const refreshTokens = [tokens()?.refreshToken, isRecord(stored) ? stored.tokens.refreshToken : undefined]
    try {
      await session.signOut()
    } finally {
      onEnded(await revoke(context, refreshTokens, { otherTokens: isLocked ? 'none' : 'possible' }))
    }
  })
}

/** Returns whether the storage has no record for this Session object, which has never shown one. */
async function neverHadUser(session: Session): Promise<boolean> {
  try {
    const { status, reason } = await session.ready()
    return status === 'signed-out' && reason === undefined
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return false
  }
}

interface RemovalParts {
  readonly config: AuthConfig
  readonly revocationEndpoint: string | undefined
  /** Shows ended sessions as well. */
  readonly watched: LockedStorage
  emit(event: BackendEvent): void
}

/**
 * Returns a function that removes the record of an ended session and revokes its refresh token. If several processes find the same one,
 * only one removes it, and emits `ended_session_removed`. If the storage fails, the next request tries again. A record with another id
 * stays.
 */
export function endedRemoval({ watched, emit, ...target }: RemovalParts): (name: string, id: string) => Promise<void> {
  const removing = new Set<string>()
  return async (name, id) => {
    if (removing.has(name)) return
    removing.add(name)
    const store = new SessionStore(watched, name)
    let removed: Stored | undefined
    // Under the lock, because a refresh in progress may still replace the tokens to revoke.
    const remove = async (): Promise<void> => {
      const stored = await store.read()
      if (!isRecord(stored) || stored.id !== id) return
      await store.remove()
      removed = stored
    }
    await succeedsOrThrowsBug(() => store.locked(remove)).finally(() => removing.delete(name))
    if (!isRecord(removed)) return
    const result = await revoke(target, [removed.tokens.refreshToken], { otherTokens: 'none' })
    emit({ type: 'ended_session_removed', ...result })
  }
}
