import { backoffMs } from '../backoff.ts'
import type { AuthConfig } from '../config.ts'
import { abortable, sleep } from '../deadline.ts'
import { AgentAuthError, isAgentAuthError } from '../errors.ts'
import { refreshTokens } from '../refresh.ts'
import { freshness, type HeldTokens, identityOf } from './held-tokens.ts'
import type { SessionHolder } from './holder.ts'
import { isLeftAlone, succeeds } from './saving.ts'
import type { SessionStore } from './store.ts'

export interface RenewOptions {
  /** `needed` retries a service that is busy; `early` only replays an answer that was lost. */
  readonly urgency: 'needed' | 'early'
  readonly signal?: AbortSignal | undefined
}

/** Renews the tokens of one session, one refresh at a time, on one schedule of retries. */
export interface Renewal {
  /** Resolves when the held tokens were renewed or replaced by another holder's. */
  renew(from: HeldTokens, options: RenewOptions): Promise<void>
  /** Makes what is in flight without effect and frees the lock at once. */
  cancel(): void
}

/** A committed refresh whose answer is lost can be repeated with the same token, but only for a while. */
const maxSends = { ambiguous: 3, busy: 4 } as const

export function sessionRenewal(
  config: AuthConfig,
  store: SessionStore,
  holder: SessionHolder,
  peers: 'locked' | 'unlocked',
): Renewal {
  const { clock, emit, timeoutMs } = config
  let flight: { readonly done: Promise<void>; readonly cancel: AbortController } | undefined
  let failures = 0
  let failure: AgentAuthError | undefined
  let retryAtMs = 0

  const fail = (error: AgentAuthError): void => {
    failure = error
    const waitMs = error.details?.retryAfterMs || backoffMs(++failures)
    retryAtMs = clock.monotonicMs() + waitMs
    emit({ type: 'refresh_failed', code: error.code, waitMs })
  }
  const launch = (from: HeldTokens): Promise<void> => {
    const cancel = new AbortController()
    const work = store.locked(() => refreshOnce(config, store, holder, from, cancel.signal, peers))
    const done = abortable(work, cancel.signal)
      .then(
        () => {
          failures = 0
          failure = undefined
        },
        (error: AgentAuthError) => {
          if (cancel.signal.aborted) throw superseded(holder)
          if (error.code === 'lock_timeout') return adoptOrThrow(holder, from, error)
          if (error.code !== 'session_ended' && error.code !== 'session_changed') fail(error)
          throw error
        },
      )
      .finally(() => {
        if (flight?.cancel === cancel) flight = undefined
        holder.flush()
      })
    flight = { done, cancel }
    return done
  }
  return {
    async renew(from, { urgency, signal }) {
      const startedMs = clock.monotonicMs()
      if (failure && !flight && startedMs < retryAtMs) throw failure
      for (let sends = 1; ; sends++) {
        try {
          return await abortable(flight?.done ?? launch(from), signal)
        } catch (error) {
          const outcome =
            isAgentAuthError(error) && error.retryable ? (error.details?.outcome ?? 'ambiguous') : 'config'
          const limit =
            outcome === 'ambiguous'
              ? maxSends.ambiguous
              : urgency === 'needed' && outcome !== 'not_sent'
                ? maxSends.busy
                : 1
          const waitMs = retryAtMs - clock.monotonicMs()
          if (error !== failure || outcome === 'config' || sends >= limit || retryAtMs - startedMs > timeoutMs)
            throw error
          await sleep(waitMs, signal)
          if (holder.held !== from) return
        }
      }
    },
    cancel() {
      flight?.cancel.abort()
      flight = undefined
      failures = 0
      failure = undefined
    },
  }
}

/** The one critical section: look, refresh once, look again, save. Design of the session: docs/sessions.md. */
async function refreshOnce(
  config: AuthConfig,
  store: SessionStore,
  holder: SessionHolder,
  from: HeldTokens,
  signal: AbortSignal,
  peers: 'locked' | 'unlocked',
): Promise<void> {
  await follow(store, holder)
  const { held } = holder
  if (!held || held.record.id !== from.record.id || signal.aborted) throw superseded(holder)
  if (held !== from && freshness(held, config.clock.monotonicMs()) !== 'spent') return
  const { id, rev, tokens } = held.record
  try {
    const fresh = await refreshTokens(config, tokens, { signal })
    if (signal.aborted) throw superseded(holder)
    await commit(store, holder, held, { id, rev: rev + 1, tokens: fresh }, signal)
  } catch (error) {
    if (!isAgentAuthError(error) || error.code !== 'grant_rejected' || signal.aborted) throw error
    await follow(store, holder)
    if (peers === 'unlocked' && holder.held === held) {
      // Nothing kept another tab or process from refreshing too: its tokens may be about to arrive.
      await sleep(1_000, signal)
      await follow(store, holder)
    }
    if (signal.aborted) throw superseded(holder)
    if (holder.held && holder.held !== held) return
    if (holder.held) {
      holder.end('refused')
      if (!isLeftAlone(holder.expected)) await store.remove().catch(() => holder.report('remove_failed'))
    }
    throw new AgentAuthError('session_ended', 'The service ended the session. The person must sign in again.', {
      status: error.status,
      details: error.details,
    })
  }
}

/** Saves the new tokens unless the record was removed or replaced meanwhile; a store that fails is owed the write. */
async function commit(
  store: SessionStore,
  holder: SessionHolder,
  held: HeldTokens,
  next: HeldTokens['record'],
  signal: AbortSignal,
): Promise<void> {
  await follow(store, holder)
  if (holder.held?.record !== held.record || signal.aborted) {
    if (holder.held?.record.id === held.record.id && !signal.aborted) return
    throw superseded(holder)
  }
  const written = !isLeftAlone(holder.expected) && (await succeeds(store.write(next)))
  if (signal.aborted) throw superseded(holder)
  // The age counts from before the request, which lasted a minute at most.
  holder.hold(next, 60_000)
  if (written) holder.expected = identityOf(next)
  else holder.report('write_failed')
}

/** A store that cannot be read must not stop a session that lives in memory. */
async function follow(store: SessionStore, holder: SessionHolder): Promise<void> {
  try {
    holder.adopt(await store.read())
  } catch {
    holder.report('read_failed')
  }
}

async function adoptOrThrow(holder: SessionHolder, from: HeldTokens, error: AgentAuthError): Promise<void> {
  await holder.look()
  if (holder.held === from) throw error
}

function superseded(holder: SessionHolder): AgentAuthError {
  return holder.held
    ? new AgentAuthError(
        'session_changed',
        'Somebody else signed in meanwhile. Nothing was sent for the earlier session.',
      )
    : new AgentAuthError('login_required', 'The session is over. The person must sign in again.')
}
