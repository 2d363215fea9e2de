import type { AgentAuthErrorCode } from '../errors.ts'

/**
 * The statuses of an error that a route passes on, as JSON and on the page of the callback. For a refusal of its own, a route gives the
 * status to `errorResponse`. 400: start the login again. 401: sign in again. 403: the user denied the login. 503: the same request may
 * succeed later, or for `exchange_interrupted` a new login. 502: the configuration is wrong or a response cannot be used. 502 also stands
 * where a code does not occur: for example, no route sends `callback_malformed` as JSON.
 */
const statuses: Readonly<Record<AgentAuthErrorCode, readonly [json: number, page: number]>> = {
  config_invalid: [502, 502],
  insecure_context: [502, 502],
  callback_malformed: [502, 400],
  state_mismatch: [502, 400],
  flow_not_found: [502, 400],
  flow_expired: [502, 400],
  already_handled: [502, 400],
  login_denied: [502, 403],
  login_failed: [502, 400],
  popup_blocked: [502, 502],
  popup_closed: [502, 502],
  issuer_mismatch: [502, 400],
  exchange_interrupted: [502, 503],
  grant_rejected: [502, 400],
  client_rejected: [502, 502],
  login_required: [401, 400],
  session_ended: [401, 401],
  session_changed: [503, 503],
  temporarily_unavailable: [503, 503],
  timeout: [503, 503],
  aborted: [503, 503],
  response_invalid: [502, 502],
  response_too_large: [502, 502],
  storage_failed: [503, 503],
  storage_degraded: [502, 502],
  lock_timeout: [503, 503],
  origin_forbidden: [502, 502],
  unauthenticated: [502, 502],
  client_not_approved: [502, 502],
  permission_missing: [502, 502],
  validation_failed: [502, 502],
  request_failed: [502, 502],
}

/** Returns 502 for a code that is not in the table, because an error may come from another version of this library. */
function statusesOf(code: AgentAuthErrorCode): readonly [json: number, page: number] {
  return Object.hasOwn(statuses, code) ? statuses[code] : [502, 502]
}

/** Returns the status of a response with this error as JSON. */
export function statusOf(code: AgentAuthErrorCode): number {
  return statusesOf(code)[0]
}

/** Returns the status of the page that shows a login that failed with this code. */
export function pageStatusOf(code: AgentAuthErrorCode): number {
  return statusesOf(code)[1]
}
