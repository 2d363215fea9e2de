import { isAgentAuthError } from '../../errors.ts'
import { maxRefreshWaitMs } from '../../internal/limits.ts'
import { succeedsOrThrowsBug } from '../../internal/timeouts.ts'
import { decodeRecord, isRecord, type Stored, sessionName } from '../../session/record.ts'
import { sessionStore, tryRead } from '../../session/store.ts'
import type { BackendContext } from '../context.ts'
import type { LiveSession } from './live-sessions.ts'
import { type RevocationResult, revokeAll, type TokensToRevoke } from './revocation.ts'
import type { LockedStorage } from './watched-storage.ts'

/** A session whose sign-out has begun. */
interface SignOutBegun extends TokensToRevoke {
  /** Resolves when the user is signed out everywhere. Rejects with `storage_failed` if the record may still be there. */
  readonly signedOut: Promise<void>
}

/**
 * Ends a session and revokes its tokens, also if it then rejects with `storage_failed` because the record may remain.
 * `onEnded` gets the outcome of the revocation. It is not called if there is no such session.
 */
export async function endSession(
  context: BackendContext,
  key: string,
  onEnded: (result: RevocationResult) => void,
): Promise<void> {
  await context.live.use(key, async (live) => {
    if (await isUnknown(live)) return
    const ending = await beginSignOut(context, live, key)
    try {
      await ending.signedOut
    } finally {
      onEnded(await revokeAll(context, ending))
    }
  })
}

/**
 * Returns whether no session has this key: it is signed out without a reason, because none ended here. It only reads, so that
 * invented cookies cost the storage no lock and no write.
 */
async function isUnknown({ session }: LiveSession): Promise<boolean> {
  try {
    const { status, reason } = await session.ready()
    return status === 'signed-out' && reason === undefined
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return false
  }
}

/**
 * Waits for a refresh in any process (`maxRefreshWaitMs`, 1 s), because that refresh replaces the token to revoke, then begins the
 * sign-out. With the lock, the record is removed before the lock is free. `endSession` sends the revocation.
 */
async function beginSignOut(context: BackendContext, live: LiveSession, key: string): Promise<SignOutBegun> {
  const { config, sessions, revocationEndpoint } = context
  // Without an endpoint nothing is revoked, so there is no refresh to wait for.
  if (!revocationEndpoint) return { signedOut: live.session.signOut(), refreshTokens: [], otherTokens: 'none' }
  const name = sessionName(config, key)
  const store = sessionStore(sessions, name)
  const unlock = await lockWithin(sessions, name, maxRefreshWaitMs)
  try {
    const stored = await tryRead(store)
    const refreshTokens = refreshTokensOf(name, live, stored)
    // Not awaited here, because its last step waits for this lock.
    const signedOut = live.session.signOut()
    // It may reject before the caller waits for it, which would be an unhandled rejection.
    signedOut.catch(() => {})
    // The record must be removed before the lock is free, because the next owner would refresh it.
    if (unlock && isRecord(stored)) await succeedsOrThrowsBug(() => store.remove())
    return { signedOut, refreshTokens, otherTokens: unlock ? 'none' : 'possible' }
  } finally {
    unlock?.()
  }
}

/**
 * Returns the refresh token in memory, that of the record that could not be saved, and that of the storage. If the storage
 * cannot be read, it uses the record that this process wrote or read last.
 */
function refreshTokensOf(
  name: string,
  { current, observed: { pendingWrite, lastSeen } }: LiveSession,
  stored: Stored | undefined,
): string[] {
  // A session may have refreshed its tokens without a write, because it could not read what the write would replace.
  const inMemory: Stored = current.record ?? 'absent'
  const records = [inMemory, decodeRecord(name, pendingWrite), stored ?? decodeRecord(name, lastSeen)]
  const tokens = records.map((record) => (isRecord(record) ? record.tokens.refreshToken : undefined))
  return [...new Set(tokens)].filter((token) => token !== undefined)
}

/** Resolves to what frees the lock, or to undefined if it was not acquired in time or the storage failed. */
function lockWithin(sessions: LockedStorage, name: string, timeoutMs: number): Promise<(() => void) | undefined> {
  const waiting = new AbortController()
  const { signal } = waiting
  return new Promise((resolve) => {
    const giveUp = (): void => {
      clearTimeout(timer)
      resolve(undefined)
      waiting.abort()
    }
    const timer = setTimeout(giveUp, timeoutMs)
    const hold = (): Promise<void> =>
      new Promise((unlock) => {
        clearTimeout(timer)
        // A storage may grant the lock although the signal has fired.
        if (signal.aborted) unlock()
        else resolve(unlock)
      })
    sessions.withLock(name, hold, { signal }).catch(giveUp)
  })
}
