import type { RequestEntry } from '../state/journal.ts'

/** One request for logs and metrics: its line of the journal, which holds no secret, and how it went. */
export interface ObservedRequest extends Omit<RequestEntry, 'kind' | 'atMs'> {
  /** The value of `X-Request-Id`. */
  requestId: string
  /** The pattern of the route, or `other`, because a metric must not have a label for each path. */
  route: string
  durationMs: number
  /** The error code of a refusal, if the response has one. */
  refusal?: string
}

/** An error that no handler expected. */
export interface Failure {
  id: string
  requestId: string
  error: unknown
}
