import { AgentAuthError, isAgentAuthError } from '../errors.ts'
import { attempted, sleep } from '../internal/timeouts.ts'
import { refreshTokens } from '../refresh.ts'
import { type ExpectedRecord, expectSaved } from './expected.ts'
import { freshness, type HeldTokens } from './held-tokens.ts'
import type { SessionRecord } from './record.ts'
import type { SessionHolder } from './state.ts'
import { storageFailed } from './store.ts'

/** Whether everybody who shares the record also shares the lock. */
export type Peers = 'locked' | 'unlocked'

/** Whether a write of the new tokens failed, so that only a read can tell whether it took effect. */
export type Refreshed = 'done' | 'write_failed'

/** What happens under the lock, and nothing else does: look, refresh once, look again, save. */
export async function refreshOnce(
  holder: SessionHolder,
  peers: Peers,
  from: HeldTokens,
  signal: AbortSignal,
): Promise<Refreshed> {
  const { config, store } = holder
  const problem = await follow(holder)
  // A record that only others can open is not the one the held tokens were saved in: they may have been used there.
  if (problem?.retryable === false) throw problem
  const { held } = holder
  if (held?.record.id !== from.record.id || signal.aborted) throw superseded(holder)
  // Another holder has replaced the token the caller came for.
  if (held !== from && freshness(held, config.clock.monotonicMs()) !== 'spent') return 'done'
  const { id, rev, tokens } = held.record
  try {
    const fresh = await refreshTokens(config, tokens, { signal })
    return await commit(holder, held, { id, rev: rev + 1, tokens: fresh }, signal)
  } catch (error) {
    if (!isAgentAuthError(error) || error.code !== 'grant_rejected' || signal.aborted) throw error
    if (await wasReplaced(holder, peers, held, signal)) return 'done'
    if (holder.held) {
      holder.end('refused')
      const removed = holder.expected.kind === 'left_alone' || (await attempted(() => store.remove()))
      if (!removed) holder.report('remove_failed')
    }
    throw new AgentAuthError('session_ended', 'The service ended the session. The person must sign in again.', error)
  }
}

/** Saves the new tokens unless the record was removed or replaced meanwhile; a store that fails is owed the write. */
async function commit(
  holder: SessionHolder,
  held: HeldTokens,
  next: SessionRecord,
  signal: AbortSignal,
): Promise<Refreshed> {
  const checkCurrent = (): void => {
    if (signal.aborted || holder.held?.record.id !== next.id) throw superseded(holder)
  }
  await follow(holder)
  checkCurrent()
  if (holder.held !== held) return 'done'
  const isLeftAlone = holder.expected.kind === 'left_alone'
  const isWritten = !isLeftAlone && (await attempted(() => holder.store.write(next)))
  checkCurrent()
  // The age counts from before the request, which lasted a minute at most.
  holder.hold(next, isWritten ? expectSaved : unsavedOver(held.record, holder.expected), 60_000)
  if (isWritten || isLeftAlone) return 'done'
  holder.report('write_failed')
  return 'write_failed'
}

/** What the store should show after a failed write: what it showed before. */
function unsavedOver(previous: SessionRecord, expected: ExpectedRecord): ExpectedRecord {
  if (expected.kind === 'saved') return { kind: 'unsaved', over: previous }
  // The first save did not have the lock in time, and nothing is known of the record it was to replace.
  if (expected.kind === 'replacing') return { kind: 'unknown', over: 'unread', absence: 'removed' }
  return expected
}

/** Before a refusal counts: whether another holder, the winner of a race, has put newer tokens in the store. */
async function wasReplaced(
  holder: SessionHolder,
  peers: Peers,
  held: HeldTokens,
  signal: AbortSignal,
): Promise<boolean> {
  let problem = await follow(holder)
  if (peers === 'unlocked' && holder.held === held) {
    // Nothing kept another tab or process from refreshing too: its tokens may be about to arrive.
    await sleep(1_000, signal)
    problem = await follow(holder)
  }
  if (problem) throw storageFailed()
  return holder.held !== undefined && holder.held !== held
}

/** A store that cannot be read must not stop a session that lives in memory; tells why it was not. */
async function follow(holder: SessionHolder): Promise<AgentAuthError | undefined> {
  try {
    holder.adopt(await holder.store.read())
    return undefined
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    holder.report('read_failed')
    return error
  }
}

export function superseded({ held }: SessionHolder): AgentAuthError {
  return held
    ? new AgentAuthError('session_changed', 'Somebody else signed in meanwhile. Nothing was sent.')
    : loginRequired()
}

export function loginRequired(): AgentAuthError {
  return new AgentAuthError('login_required', 'Nobody is signed in. The person must sign in again.')
}
