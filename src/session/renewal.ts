import { backoffMs } from '../backoff.ts'
import { abortable, sleep } from '../deadline.ts'
import { type AgentAuthError, isAgentAuthError } from '../errors.ts'
import type { HeldTokens } from './held-tokens.ts'
import { type RefreshTurn, refreshOnce, superseded } from './refresh-turn.ts'

/** `needed` also retries a service that is busy; `early` only replays an answer that was lost. */
export type Urgency = 'needed' | 'early'

/** A refresh whose answer is lost can be repeated with the same token, but only for a while. */
const maxSends = { ambiguous: 3, busy: 4 } as const

/** Renews the tokens of one session: one refresh at a time, on one schedule of retries. */
export class Renewal {
  #flight: { readonly done: Promise<void>; readonly cancel: AbortController } | undefined
  #failures = 0
  #failure: AgentAuthError | undefined
  #retryAtMs = 0
  readonly #turn: RefreshTurn

  constructor(turn: RefreshTurn) {
    this.#turn = turn
  }

  /** Resolves when the held tokens were renewed or replaced by another holder's; `signal` ends only this wait. */
  async renew(from: HeldTokens, urgency: Urgency, signal?: AbortSignal): Promise<void> {
    const { clock, timeoutMs } = this.#turn.config
    const startedMs = clock.monotonicMs()
    if (this.#failure && !this.#flight && startedMs < this.#retryAtMs) throw this.#failure
    for (let sends = 1; ; sends++) {
      try {
        return await abortable(this.#flight?.done ?? this.#launch(from), signal)
      } catch (error) {
        const late = this.#retryAtMs - startedMs > timeoutMs
        if (error !== this.#failure || late || sends >= sendsAllowed(error as AgentAuthError, urgency)) throw error
        await sleep(this.#retryAtMs - clock.monotonicMs(), signal)
        if (this.#turn.holder.held !== from) return
      }
    }
  }

  /** Makes what is in flight without effect and frees the lock at once. */
  cancel(): void {
    this.#flight?.cancel.abort()
    this.#flight = undefined
    this.retryNow()
  }

  #launch(from: HeldTokens): Promise<void> {
    const cancel = new AbortController()
    const done = this.#fly(from, cancel.signal).finally(() => {
      if (this.#flight?.cancel === cancel) this.#flight = undefined
      this.#turn.holder.flush()
    })
    this.#flight = { done, cancel }
    return done
  }

  async #fly(from: HeldTokens, signal: AbortSignal): Promise<void> {
    const { store, holder } = this.#turn
    try {
      await abortable(
        store.locked(() => refreshOnce(this.#turn, from, signal)),
        signal,
      )
      this.retryNow()
    } catch (error) {
      if (signal.aborted || !isAgentAuthError(error)) throw superseded(holder)
      if (error.code === 'lock_timeout') {
        // Whoever has the lock may have renewed meanwhile.
        await holder.look()
        if (holder.held !== from) return
      } else if (!/^session_|^login_/.test(error.code)) this.#fail(error)
      throw error
    }
  }

  /** Forgets earlier failures: the next call may send at once. */
  retryNow(): void {
    this.#failures = 0
    this.#failure = undefined
  }

  #fail(error: AgentAuthError): void {
    const waitMs = error.details?.retryAfterMs || backoffMs(++this.#failures)
    this.#failure = error
    this.#retryAtMs = this.#turn.config.clock.monotonicMs() + waitMs
    this.#turn.config.emit({ type: 'refresh_failed', code: error.code, waitMs })
  }
}

/** How often one wait may send in all; a service that was not reached or refuses the client is not asked again. */
function sendsAllowed({ retryable, details }: AgentAuthError, urgency: Urgency): number {
  const outcome = details?.outcome ?? 'ambiguous'
  if (!retryable || outcome === 'not_sent') return 1
  if (outcome === 'ambiguous') return maxSends.ambiguous
  return urgency === 'needed' ? maxSends.busy : 1
}
