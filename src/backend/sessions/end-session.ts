import { isAgentAuthError } from '../../errors.ts'
import { throwBug } from '../../internal/timeouts.ts'
import { invalid } from '../../internal/values.ts'
import { lockTimeout } from '../../session/errors.ts'
import { isRecord, type Stored } from '../../session/record.ts'
import { sessionStore, tryRead } from '../../session/store.ts'
import type { Session } from '../../session.ts'
import { type LockWait, runLocked } from '../../storage/lock.ts'
import type { BackendContext } from '../context.ts'
import { checkSessionKey, isSessionKey } from '../cookies.ts'
import { isWellFormed } from './not-before.ts'
import { type RevocationResult, revoke } from './revocation.ts'

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
    const store = sessionStore(sessions, name)
    let stored: Stored | undefined
    let isLocked = false
    const readAndRemove = async (): Promise<void> => {
      isLocked = true
      stored = await tryRead(store)
      // Before the lock is free, because the next owner would refresh it.
      if (isRecord(stored)) await store.remove().catch(throwBug)
    }
    await runLocked(sessions, name, readAndRemove, refreshWait).catch(throwBug)
    if (isLocked && stored === 'absent' && !tokens()) return
    if (!isLocked) stored = await tryRead(store)
    const refreshTokens = [tokens()?.refreshToken, isRecord(stored) ? stored.tokens.refreshToken : undefined]
    try {
      await session.signOut()
    } finally {
      onEnded(await revoke(context, refreshTokens, isLocked ? 'all' : 'some'))
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

/** Ends the session with this key, and returns whether there was one. */
export async function endSessionOfKey(context: BackendContext, key: string): Promise<boolean> {
  checkSessionKey(context, key)
  let result: RevocationResult | undefined
  await endSession(context, key, (outcome) => {
    result = outcome
  })
  if (result) context.emit({ type: 'sessions_ended', scope: 'session', ...result })
  return result !== undefined
}

/** Ends all sessions of a subject. */
export async function endSessionsOf(context: BackendContext, subject: string): Promise<void> {
  if (typeof subject !== 'string' || subject === '' || !isWellFormed(subject))
    invalid('subject must be well-formed text that is not empty')
  if (isSessionKey(subject))
    invalid('subject must not be session.key. Pass session.claims?.subject, or call endSession(key)')
  await context.endings.end(subject)
  await ended(context, 'subject')
}

/** Ends all sessions. */
export async function endAll(context: BackendContext): Promise<void> {
  await context.endings.end()
  await ended(context, 'all')
}

async function ended({ live, emit }: BackendContext, scope: 'subject' | 'all'): Promise<void> {
  await live.readAgain()
  emit({ type: 'sessions_ended', scope })
}
