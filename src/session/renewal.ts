import { type AgentAuthError, isAgentAuthError } from '../errors.ts'
import { backoffMs } from '../internal/backoff.ts'
import { abortable, sleep } from '../internal/timeouts.ts'
import type { HeldTokens } from './held-tokens.ts'
import { type Peers, refreshOnce, superseded } from './refresh.ts'
import { confirmWrite } from './save.ts'
import type { SessionHolder } from './state.ts'

/** `needed` also retries a service that is busy; `early` only replays an answer that was lost. */
export type Urgency = 'needed' | 'early'

/** Renews the tokens of one session: one refresh at a time, on one schedule of retries. */
export interface Renewal {
  /** Resolves when the held tokens were renewed or replaced by another holder's; `signal` ends only this wait. */
  renew(from: HeldTokens, urgency: Urgency, signal?: AbortSignal | null): Promise<void>
  /** Makes what is in flight without effect and frees the lock at once. */
  cancel(): void
  /** Forgets earlier failures: the next call may send at once. */
  retryNow(): void
}

interface Flight {
  readonly done: Promise<void>
  readonly cancel: AbortController
}

export function createRenewal(holder: SessionHolder, peers: Peers): Renewal {
  const { clock, emit, timeoutMs } = holder.config
  let flight: Flight | undefined
  let failures = 0
  let failure: AgentAuthError | undefined
  let retryAtMs = 0

  function launch(from: HeldTokens): Promise<void> {
    const cancel = new AbortController()
    const done = fly(from, cancel.signal).finally(() => {
      if (flight?.cancel === cancel) flight = undefined
      holder.flush()
    })
    flight = { done, cancel }
    return done
  }

  async function fly(from: HeldTokens, signal: AbortSignal): Promise<void> {
    try {
      const refreshed = await abortable(
        holder.store.locked(() => refreshOnce(holder, peers, from, signal)),
        signal,
      )
      retryNow()
      if (refreshed === 'write_failed') void confirmWrite(holder)
    } catch (error) {
      if (signal.aborted) throw superseded(holder)
      if (!isAgentAuthError(error)) throw error
      if (error.code === 'lock_timeout') {
        // Whoever has the lock may have renewed meanwhile.
        await holder.look()
        if (holder.held !== from) return
      } else if (!/^session_|^login_/.test(error.code)) fail(error)
      throw error
    }
  }

  function retryNow(): void {
    failures = 0
    failure = undefined
  }

  function fail(error: AgentAuthError): void {
    const waitMs = error.details?.retryAfterMs || backoffMs(++failures)
    failure = error
    retryAtMs = clock.monotonicMs() + waitMs
    emit({ type: 'refresh_failed', code: error.code, waitMs })
  }

  return {
    async renew(from, urgency, signal) {
      const startedMs = clock.monotonicMs()
      if (failure && startedMs < retryAtMs) throw failure
      for (let sends = 1; ; sends++) {
        try {
          return await abortable(flight?.done ?? launch(from), signal)
        } catch (error) {
          const late = retryAtMs - startedMs > timeoutMs
          if (error !== failure || late || sends >= sendsAllowed(error as AgentAuthError, urgency)) throw error
          await sleep(retryAtMs - clock.monotonicMs(), signal)
          if (holder.held !== from) return
        }
      }
    },
    cancel() {
      flight?.cancel.abort()
      flight = undefined
      retryNow()
    },
    retryNow,
  }
}

/** How often one wait may send in all; a service that was not reached or refuses the client is not asked again. */
function sendsAllowed({ retryable, details }: AgentAuthError, urgency: Urgency): number {
  const outcome = details?.outcome
  // Without an outcome it was the store that failed, which has had its time.
  if (!retryable || outcome === undefined || outcome === 'not_sent') return 1
  // A refresh whose answer is lost can be repeated with the same token, but only for a while.
  if (outcome === 'ambiguous') return 3
  return urgency === 'needed' ? 4 : 1
}
