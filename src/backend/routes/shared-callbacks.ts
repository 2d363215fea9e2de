import { type AgentAuthErrorCode, isAgentAuthError } from '../../errors.ts'
import { maxRememberedFailures } from '../../internal/limits.ts'
import { removeOldest } from '../remove-oldest.ts'

/**
 * The callbacks of this process. Those with the same state are of one login, which they finish once. Of logins that failed it
 * remembers the newest (`maxRememberedFailures`, 256). `startSession` in callback.ts handles a callback that another process finishes,
 * or that comes again after its login succeeded.
 */
export interface SharedCallbacks {
  /**
   * Runs the task, or waits for the one of the same login that is in progress. If an earlier callback of this login failed, rejects with
   * that error, unless the callback can be loaded again (`canLoadAgain`). So no code is sent twice. RFC 6749 section 4.1.2.
   */
  run(state: string, task: () => Promise<void>): Promise<void>
}

export function sharedCallbacks(): SharedCallbacks {
  const inFlight = new Map<string, Promise<void>>()
  const failures = new Map<string, unknown>()

  async function start(state: string, task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } catch (error) {
      if (!canLoadAgain(error)) {
        failures.set(state, error)
        removeOldest(failures, maxRememberedFailures)
      }
      throw error
    } finally {
      inFlight.delete(state)
    }
  }

  return {
    async run(state, task) {
      if (failures.has(state)) throw failures.get(state)
      const running = inFlight.get(state) ?? start(state, task)
      inFlight.set(state, running)
      return running
    },
  }
}

/** If a retryable error has one of these codes, the authorization code was not sent yet. */
const beforeExchange: ReadonlySet<AgentAuthErrorCode> = new Set(['storage_failed', 'lock_timeout'])

/** Returns whether the same callback can be loaded again: its code was not sent, and the failure may pass. */
export function canLoadAgain(error: unknown): boolean {
  if (!isAgentAuthError(error) || !error.retryable) return false
  return beforeExchange.has(error.code) || error.details?.outcome === 'not_sent'
}
