import { AgentApiError, type AgentApiErrorCode, type ReceivedResponse } from './error.ts'

/** Whether a call changes data. A read, also a search by POST, can be repeated without harm. */
export type Effect = 'read' | 'write'

/** A call that failed. */
export interface Failure {
  readonly code: AgentApiErrorCode
  /** What happened, as a sentence. */
  readonly what: string
  /** Whether the cause may be over a moment later. */
  readonly isPassing: boolean
  /** Whether the API may have carried out the request. */
  readonly isUnclear: boolean
  readonly received?: ReceivedResponse | undefined
  readonly retryAfterMs?: number | undefined
}

/** Returns the error of a failed call, whose message ends with what to do. */
export function failureOf(effect: Effect, failure: Failure): AgentApiError {
  const { code, what, isPassing, isUnclear } = failure
  const mayHaveWritten = isUnclear && effect === 'write'
  const retryable = isPassing && !mayHaveWritten
  const advice = mayHaveWritten ? ' The request may have been carried out.' : retryable ? ' Try again later.' : ''
  return new AgentApiError(code, what + advice, { ...failure, retryable })
}
