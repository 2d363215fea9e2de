import { isAgentAuthError } from '../errors.ts'
import { maxTimeoutMs } from '../internal/limits.ts'
import { sleep } from '../internal/timeouts.ts'
import { refreshTokens } from '../token-endpoint.ts'
import type { Tokens } from '../tokens.ts'
import { type CurrentRecord, freshness } from './decide-call.ts'
import { loginRequiredOrChanged, sessionEnded } from './errors.ts'
import { isLeftAlone, isRecord } from './record.ts'
import type { SessionParts } from './sync.ts'

/** How long a refused refresh waits for the tokens of another page or process, if they share no lock. */
const lateWriterMs = 1_000
/** How much older than the time of its request a new token may be: the request, and the read and the write after it. */
const maxAgeMs = maxTimeoutMs + 10_000

export interface RefreshSignals {
  /** Fires when the result must be discarded, because the session ended or another sign-in replaced it. */
  readonly discarded: AbortSignal
  /** Fires when the request must be aborted. */
  readonly aborted: AbortSignal
}

/**
 * Refreshes the tokens of `from`: read, send, read, write. Must be called under the lock.
 *
 * Of the responses, only a refused refresh token ends the session, unless another page or process has stored newer tokens or the storage
 * cannot be read. After any other failure the session stays.
 */
export async function refreshUnderLock(
  parts: SessionParts,
  from: CurrentRecord,
  { discarded, aborted }: RefreshSignals,
): Promise<void> {
  const { config, store, memory, sync } = parts
  const throwIfDiscarded = (): void => {
    if (discarded.aborted || memory.record?.id !== from.id) throw loginRequiredOrChanged(memory)
  }

  const found = await sync.read()
  throwIfDiscarded()
  const record = memory.record as CurrentRecord
  // Another page or process has refreshed the token before this refresh acquired the lock.
  if (record !== from && freshness(record, config.clock.monotonicMs()) !== 'expired') return
  // Without a read it is unknown whether another process has used the refresh token. Without a common lock a read does not show that
  // either. An error that is not retryable means that this process can never read the record, which may hold newer tokens.
  const isUnread = isAgentAuthError(found)
  if (isUnread && (!found.retryable || store.lockReach === 'everywhere')) throw found
  // Others have the previous refresh token, which the service accepts only until the current one is used. So that is saved first. If the
  // write fails, the request is sent all the same, because the grace period ends anyway.
  if (memory.unsaved && !isUnread && !isLeftAlone(found)) await sync.save(record)

  let tokens: Tokens
  try {
    tokens = await refreshTokens(config, record.tokens, { signal: aborted })
  } catch (error) {
    throwIfDiscarded()
    if (!isAgentAuthError(error) || error.code !== 'grant_rejected') throw error
    if (await isReplaced(parts, record, discarded)) return
    if (discarded.aborted) throw loginRequiredOrChanged(memory)
    await endRefused(parts)
    throw sessionEnded(error)
  }

  const again = await sync.read()
  throwIfDiscarded()
  // Another page or process saved newer tokens of this sign-in, because a lease ran out or the lock is not common. Those count.
  if (memory.record !== record) return
  const next = { ...record, rev: record.rev + 1, tokens }
  const isLeft = isLeftAlone(isAgentAuthError(again) ? undefined : again)
  // Without any read under this lock, the write could undo a sign-out elsewhere or replace the record of another user.
  const isSaved = !isLeft && !(isUnread && isAgentAuthError(again)) && (await sync.save(next))
  throwIfDiscarded()
  memory.become(next, isSaved ? 'saved' : 'unsaved', maxAgeMs)
  if (!isSaved && !isLeft) store.report('write_failed')
}

/** Returns whether another page or process has stored other tokens, so that a refusal does not count. Rejects if the read fails. */
async function isReplaced(
  { store, memory, sync }: SessionParts,
  record: CurrentRecord,
  discarded: AbortSignal,
): Promise<boolean> {
  let found = await sync.read()
  if (store.lockReach === 'here' && memory.record === record && !discarded.aborted) {
    // Another page or process may have refreshed as well, and its write may still be in progress.
    await sleep(lateWriterMs, discarded)
    found = await sync.read()
  }
  if (isAgentAuthError(found)) throw found
  return !!memory.record && memory.record !== record
}

async function endRefused({ store, memory }: SessionParts): Promise<void> {
  // Removed elsewhere: the refusal counts, and a later sign-in may be stored by now.
  if (!memory.record) return
  memory.end('refused')
  try {
    const stored = await store.read()
    if (isRecord(stored) ? memory.ended.includes(stored.id) : stored === 'unreadable') await store.remove()
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    store.report('remove_failed')
  }
}
