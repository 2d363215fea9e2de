import { isAgentAuthError } from '../../errors.ts'
import { maxRefreshWaitMs } from '../../internal/limits.ts'
import { succeedsOrThrowsBug } from '../../internal/timeouts.ts'
import { lockTimeout } from '../../session/errors.ts'
import { decodeRecord, isRecord, type Stored, sessionName } from '../../session/record.ts'
import { sessionStore, tryRead } from '../../session/store.ts'
import { type LockWait, runLocked } from '../../storage/time-limits.ts'
import type { BackendContext } from '../context.ts'
import type { LiveSession } from './live-sessions.ts'
import { type RevocationResult, revokeAll, type TokensToRevoke } from './revocation.ts'

/** How long the lock of a record is waited for, which a refresh in any process may have. */
const refreshWait: LockWait = { maxWaitMs: maxRefreshWaitMs, timedOut: lockTimeout }

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
    if (await isUnknown(context, live)) return
    const ending = await beginSignOut(context, live, key)
    try {
      await ending.signedOut
    } finally {
      onEnded(await revokeAll(context, ending))
    }
  })
}

/**
 * Returns whether no session has this key. If the Session object in memory has no reason for being signed out, it never had a user,
 * and the read of `ready` suffices, so that invented cookies cost the storage no lock and no write. If it has a reason, the session
 * ended here or in another process, and only a read under the lock is certain to show that its record is gone.
 */
async function isUnknown(
  { config, sessions }: BackendContext,
  { session, observed, key }: LiveSession,
): Promise<boolean> {
  try {
    const { status, reason } = await session.ready()
    if (status !== 'signed-out') return false
    if (reason === undefined) return true
    // A removal that failed must run again, and a refresh token that could not be saved must be revoked.
    if (!observed.hasLastChangeSucceeded) return false
    const name = sessionName(config, key)
    const store = sessionStore(sessions, name)
    return (await runLocked(sessions, name, async () => store.read(), refreshWait)) === 'absent'
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return false
  }
}

/**
 * Waits until no process refreshes the session, at most `maxRefreshWaitMs`, 1 s, because a refresh replaces the token to revoke. Then it
 * begins the sign-out. If it has the lock, it removes the record before it frees the lock. `endSession` sends the revocation.
 */
async function beginSignOut(context: BackendContext, live: LiveSession, key: string): Promise<SignOutBegun> {
  const { config, sessions, revocationEndpoint } = context
  // Without an endpoint nothing is revoked, so there is no refresh to wait for.
  if (!revocationEndpoint) return { signedOut: live.session.signOut(), refreshTokens: [], otherTokens: 'none' }
  const name = sessionName(config, key)
  const store = sessionStore(sessions, name)
  // A storage with leases finds the lock of an operation by the async context (`AsyncLocalStorage`), and refuses the operation when the
  // lease is over. The sign-out still writes after this lock is free, so it must not run in the context of this lock. An async function
  // keeps the context in which it was called. So the order is:
  // 1. Before the lock: `signOutAfter` is called, outside of the context of the lock. It waits for the refresh tokens (`toRevoke`).
  // 2. Under the lock: the record is read, and `begin` passes on its refresh token, and those that only this process has
  //    (`refreshTokensOf`). Now the sign-out begins.
  // 3. Under the lock: the record is removed, in the context of the lock.
  let begin = (_refreshTokens: readonly string[]): void => {}
  const toRevoke = new Promise<readonly string[]>((resolve) => {
    begin = resolve
  })
  const begun = signOutAfter(toRevoke, live)
  const readAndBeginSignOut = async (): Promise<Stored | undefined> => {
    const stored = await tryRead(store)
    begin(refreshTokensOf(name, live, stored))
    return stored
  }
  const readAndRemove = async (): Promise<void> => {
    // The record must be removed before the lock is free, because the next owner would refresh it.
    if (isRecord(await readAndBeginSignOut())) await succeedsOrThrowsBug(() => store.remove())
  }
  const isLocked = await succeedsOrThrowsBug(() => runLocked(sessions, name, readAndRemove, refreshWait))
  // Without the lock the sign-out begins all the same.
  if (!isLocked) await readAndBeginSignOut()
  return { ...(await begun), otherTokens: isLocked ? 'none' : 'possible' }
}

/** Begins the sign-out when the tokens to revoke are known, because it removes them from memory. */
async function signOutAfter(
  toRevoke: Promise<readonly string[]>,
  { session }: LiveSession,
): Promise<Omit<SignOutBegun, 'otherTokens'>> {
  const refreshTokens = await toRevoke
  // Not awaited here: if it rejects, `endSession` still needs the refresh tokens to revoke them.
  const signedOut = session.signOut()
  // It may reject before the caller waits for it, which would be an unhandled rejection.
  signedOut.catch(() => {})
  return { signedOut, refreshTokens }
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
