import { type AgentAuthError, isAgentAuthError } from '../errors.ts'
import { lateWriterMs, maxStorageOperationMs, maxTimeoutMs } from '../internal/limits.ts'
import { sleep, succeedsOrThrowsBug } from '../internal/timeouts.ts'
import { refreshTokens } from '../refresh.ts'
import type { Tokens } from '../tokens.ts'
import type { CurrentRecord } from './current.ts'
import { loginRequiredOrChanged, sessionEnded } from './errors.ts'
import { freshness } from './freshness.ts'
import type { SessionParts } from './parts.ts'
import { type ExpectedRecord, expectSaved, isSignInStored } from './reconcile.ts'
import type { SessionRecord } from './record.ts'
import { writeCurrent } from './save.ts'

/** Whether every page and process that shares the record also shares the lock. */
export type LockReach = 'everywhere' | 'here'

/** How a refresh ended. `to_confirm`: a write was sent and failed, so that only a read can tell whether it took effect. */
export type Refreshed = 'settled' | 'to_confirm'

export interface RefreshOptions {
  readonly lockReach: LockReach
  /** Fires when the result must be discarded, because the session ended or another sign-in replaced it. */
  readonly signal: AbortSignal
}

/**
 * Must be called under the lock. Reads the record. If the storage has an earlier revision of this sign-in, it writes the current tokens.
 * Then it sends the request, reads again, and saves. If the first read fails, it rejects without a request. There are two exceptions, for
 * a retryable error only: the last read or write did not show a record of this sign-in (`isSignInStored`, decision 0197), or the
 * storage has no common lock.
 *
 * Of the responses, only a refused refresh token ends the session: `invalid_grant`, a 400 `invalid_request`, or a 400 or 401 in JSON
 * without a code (`terminal` in token-endpoint/classify-failure.ts), unless another page or process has stored newer tokens
 * (`wasReplaced`) or the storage cannot be read. After a time-out, a 5xx, a 429 or no JSON the session stays, and refresh-retries.ts says
 * whether the request is sent again.
 */
export async function refreshOnce(
  parts: SessionParts,
  from: CurrentRecord,
  { lockReach, signal }: RefreshOptions,
): Promise<Refreshed> {
  const { config, current } = parts
  const readError = await readAndApply(parts)
  const { record, expected } = current
  if (record?.id !== from.id || signal.aborted) throw loginRequiredOrChanged(record)
  // Another page or process has refreshed the token before this refresh acquired the lock.
  if (record !== from && freshness(record, config.clock.monotonicMs()) !== 'expired') return 'settled'
  const isStored = isSignInStored(record, expected)
  // Under a common lock, a read shows whether another process has used the refresh token, so no request is sent without a read.
  // Without such a lock a read proves nothing, because another process can use the token after it. An error that is not retryable
  // means that this process can never read the record, for example because it lacks the key. The record may hold newer tokens.
  if (readError && (!readError.retryable || (isStored && lockReach === 'everywhere'))) throw readError
  // With `isStored`, a pending write means that the storage has an earlier revision of this sign-in. Then other processes have the
  // previous refresh token, which the service accepts for its grace period at most, and only until the current one is used. So the
  // current one is saved first. If that fails, the request is sent all the same, because the grace period ends anyway.
  if (!readError && isStored && expected.kind !== 'saved') await succeedsOrThrowsBug(() => writeCurrent(parts, record))
  try {
    const tokens = await refreshTokens(config, record.tokens, { signal })
    return await commit(parts, record, { tokens, wasRead: !readError, signal })
  } catch (error) {
    if (!isAgentAuthError(error) || error.code !== 'grant_rejected' || signal.aborted) throw error
    if (await wasReplaced(parts, record, { lockReach, signal })) return 'settled'
    await endRefused(parts)
    throw sessionEnded(error)
  }
}

/** What a refresh saves, and what it knows of the record. */
interface Commit {
  readonly tokens: Tokens
  /** Whether the record was read under this lock before the request. */
  readonly wasRead: boolean
  readonly signal: AbortSignal
}

/**
 * Saves the new tokens, unless the record was removed or replaced during the request: a sign-out (`endHere` in session.ts
 * fires the signal) and a later sign-in win, and the call rejects. A write that is in progress at a sign-out is removed by
 * `removeAgain` in sign-out.ts, which waits for this lock. If the write fails, or no read has succeeded, the session goes on with
 * the new tokens in memory, reports it, and later calls repeat the write, at most every five seconds (`pendingSave` in save.ts).
 */
async function commit(
  parts: SessionParts,
  record: CurrentRecord,
  { tokens, wasRead, signal }: Commit,
): Promise<Refreshed> {
  const { store, current, problems } = parts
  const readError = await readAndApply(parts)
  // The session ended or was replaced, or another page or process saved newer tokens of this sign-in, because a lease ran out or the lock
  // is not common. That counts, and the tokens of this refresh are discarded.
  if (current.record !== record) return 'settled'
  const next = { ...record, rev: record.rev + 1, tokens }
  // The age counts from before the request, which took at most `maxTimeoutMs`, 60 s. The read and the write after it took at most
  // `maxStorageOperationMs`, 5 s, each.
  const keep = (expected: ExpectedRecord): void => current.set(next, expected, maxTimeoutMs + 2 * maxStorageOperationMs)
  // Without a read under this lock, the write could undo a sign-out elsewhere or replace the record of another user.
  const isUnread = !wasRead && !!readError
  const keepUnsaved = (): void => {
    const { expected } = current
    // The session saves the sign-in late, even if its first save still succeeds.
    if (expected.kind === 'first_save') next.late = true
    keep(expectedWhileUnsaved(record, expected, isUnread ? 'none' : 'sent'))
  }
  if (current.expected.kind === 'left_alone') {
    keepUnsaved()
    return 'settled'
  }
  const isWritten = !isUnread && (await succeedsOrThrowsBug(() => store.write(next)))
  if (signal.aborted || current.record?.id !== record.id) throw loginRequiredOrChanged(current.record)
  if (isWritten) {
    keep(expectSaved)
    return 'settled'
  }
  keepUnsaved()
  // Reported also for a write that was not tried, because the tokens are not saved either way.
  problems.report('write_failed')
  return isUnread ? 'settled' : 'to_confirm'
}

/**
 * Returns what to expect while the new tokens are not saved. `write` says whether a write of them was sent. After a save, the storage
 * shows the previous revision. During the first save, the record to write over is unknown (`unread`). Otherwise the expected record stays.
 */
function expectedWhileUnsaved(
  previous: SessionRecord,
  expected: ExpectedRecord,
  write: 'none' | 'sent',
): ExpectedRecord {
  if (expected.kind === 'saved') return { kind: 'was_saved', over: previous }
  if (expected.kind !== 'first_save') return expected
  // This refresh has the lock. So `saveSignIn` (save.ts) still waits for it, or has freed it and reads in its `confirm`. `reconcile`
  // ignores what is read while `first_save` is expected, so it is unknown which record the write replaces. If neither this refresh nor
  // `saveSignIn` has sent a write, the sign-in is `unsaved`. Otherwise a write may have taken effect, and a missing record is a sign-out
  // elsewhere. There is one exception: if the read of `confirmWrite` (save.ts), which follows a failed write, finds no record, it assumes
  // that there was none before, and the session continues.
  return { kind: write === 'sent' || expected.write === 'sent' ? 'perhaps_saved' : 'unsaved', over: 'unread' }
}

/**
 * Returns whether another page or process, the winner of a race, has stored newer tokens, so that a refusal does not count. If
 * the record was removed elsewhere, the refusal does count. Without a common lock it waits for the tokens of another page or
 * process (`lateWriterMs`, 1 s).
 */
async function wasReplaced(
  parts: SessionParts,
  record: CurrentRecord,
  { lockReach, signal }: RefreshOptions,
): Promise<boolean> {
  const { current } = parts
  let readError = await readAndApply(parts)
  if (lockReach === 'here' && current.record === record) {
    // Without a common lock another page or process may have refreshed as well, and its write may still be in progress.
    await sleep(lateWriterMs, signal)
    readError = await readAndApply(parts)
  }
  if (readError) throw readError
  return !!current.record && current.record !== record
}

async function endRefused({ store, current, problems }: SessionParts): Promise<void> {
  if (!current.record) return
  const isLeftAlone = current.expected.kind === 'left_alone'
  current.end('refused')
  if (!isLeftAlone && !(await succeedsOrThrowsBug(() => store.remove()))) problems.report('remove_failed')
}

/** Reads and applies the record. Returns the error of a failed read, because the caller decides whether it needs the read. */
async function readAndApply({ store, problems, sync }: SessionParts): Promise<AgentAuthError | undefined> {
  try {
    sync.applyStored(await store.read())
    return undefined
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    problems.report('read_failed')
    return error
  }
}
