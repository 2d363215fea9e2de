import { attempt } from '../../internal/attempt.ts'
import { type BackendClientState, summaryOf } from './state.ts'

/** What is known about the user of a page. */
export interface CurrentState {
  /** What is known about the signed-in user. The same object until something changes. */
  readonly state: BackendClientState
  /** `claims` of the state, at the place where a `Session` has them. */
  readonly claims: BackendClientState['claims']
  /** Calls the listener after each change of `state`. Returns a function that ends the subscription. */
  subscribe(listener: () => void): () => void
}

/**
 * Starts with `loading`. Returns the state and a function that changes it. Calls `summaryChanged` with the text for other pages
 * (`summaryOf`) when that has changed.
 */
export function currentState(
  summaryChanged: (summary: string) => void,
): [current: CurrentState, apply: (next: BackendClientState) => void] {
  const listeners = new Set<() => void>()
  let state: BackendClientState = { status: 'loading' }
  const current: CurrentState = {
    get state() {
      return state
    },
    get claims() {
      return state.claims
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const apply = (next: BackendClientState): void => {
    const before = state
    if (JSON.stringify(next) === JSON.stringify(before)) return
    state = next
    if (summaryOf(next) !== summaryOf(before)) summaryChanged(summaryOf(next))
    for (const listener of listeners) attempt(listener)
  }
  return [current, apply]
}
