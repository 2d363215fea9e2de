import { isAgentAuthError } from '../errors.ts'
import { maxTimeoutMs } from '../internal/limits.ts'
import { sleep } from '../internal/timeouts.ts'
import { refreshTokens } from '../token-endpoint.ts'
import type { Tokens } from '../tokens.ts'
import { freshness } from './decide-call.ts'
import { loginRequiredOrChanged, sessionEnded } from './errors.ts'
import type { CurrentRecord } from './memory.ts'
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
  const { config, memory, sync } = parts
  const throwIfDiscarded = (): void => {
    if (discarded.aborted || memory.record?.id !== from.id) throw loginRequiredOrChanged(memory)
  }

  // This also writes tokens that an earlier refresh could not save. Others have the refresh token before those, which the service accepts
  // only until the current one is used.
  const found = await sync.settle()
  throwIfDiscarded()
  const record = memory.record as CurrentRecord
  // Another page or process has refreshed the token before this refresh acquired the lock.
  if (record !== from && freshness(record, config.clock.monotonicMs()) !== 'expired') return
  // Another page or process may have used the refresh token.
  if (isAgentAuthError(found)) throw found

  let tokens: Tokens
  try {
    tokens = await refreshTokens(config, record.tokens, { signal: aborted })
  } catch (error) {
    throwIfDiscarded()
    if (!isAgentAuthError(error) || error.code !== 'grant_rejected') throw error
    if (await isReplaced(parts, record, discarded)) return
    if (discarded.aborted) throw loginRequiredOrChanged(memory)
    // Removed elsewhere: the refusal counts all the same.
    if (memory.record) memory.end('refused')
    await sync.settle()
    throw sessionEnded(error)
  }

  throwIfDiscarded()
  memory.become({ ...record, rev: record.rev + 1, tokens }, maxAgeMs)
  memory.unsaved = true
  // If a sign-out or a sign-in elsewhere came first, or newer tokens because a lease ran out, that counts.
  await sync.settle()
  throwIfDiscarded()
}

/** Returns whether another page or process has stored other tokens, so that a refusal does not count. Rejects if the read fails. */
async function isReplaced(
  { store, memory, sync }: SessionParts,
  record: CurrentRecord,
  discarded: AbortSignal,
): Promise<boolean> {
  let found = await sync.settle()
  if (!store.hasCommonLock && memory.record === record) {
    // Another page or process may have refreshed as well, and its write may still be in progress.
    await sleep(lateWriterMs, discarded)
    found = await sync.settle()
  }
  if (isAgentAuthError(found)) throw found
  return !!memory.record && memory.record !== record
}
