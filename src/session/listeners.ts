import type { SessionState } from './state.ts'

/** The listeners of one session, called in the order of their subscriptions. What one throws is ignored. */
export interface StateListeners {
  /** Calls the listeners if this is another state than the last one. */
  notify(state: SessionState): void
  subscribe(listener: () => void): () => void
}

export function stateListeners(first: SessionState): StateListeners {
  let lastNotified = first
  let listeners: readonly (() => void)[] = []
  return {
    notify(state) {
      if (lastNotified === state) return
      lastNotified = state
      for (const listener of listeners) {
        try {
          listener()
        } catch {
          // An error in one listener must not affect the other listeners or the session.
        }
      }
    },
    subscribe(listener) {
      // A wrapper for each call, because the same function may be subscribed twice, and each subscription is ended separately.
      const own = (): void => listener()
      listeners = [...listeners, own]
      return () => {
        listeners = listeners.filter((one) => one !== own)
      }
    },
  }
}
