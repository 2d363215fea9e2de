import { type AgentAuthErrorCode, isAgentAuthError } from 'agent-auth'
import { type AgentApiError, isAgentApiError } from 'agent-auth/api'

export interface ErrorText {
  readonly title: string
  readonly text: string
  /** What the page offers: another attempt, a new sign-in, or nothing. */
  readonly offer: 'again' | 'sign-in' | 'none'
}

type Row = readonly [title: string, offer: ErrorText['offer']]

/** One title for every code; the error's own message says the rest. */
const rows: Record<AgentAuthErrorCode, Row> = {
  config_invalid: ['This app is not set up correctly', 'none'],
  insecure_context: ['This page needs https', 'none'],
  callback_malformed: ['The sign-in came back incomplete', 'sign-in'],
  state_mismatch: ['This sign-in was not started here', 'sign-in'],
  flow_not_found: ['This sign-in was not started in this tab', 'sign-in'],
  flow_expired: ['The sign-in took too long', 'sign-in'],
  already_handled: ['This sign-in was finished before', 'sign-in'],
  login_denied: ['You declined to sign in', 'sign-in'],
  login_failed: ['The sign-in failed', 'sign-in'],
  popup_blocked: ['The browser blocked the sign-in window', 'sign-in'],
  popup_closed: ['The sign-in window was closed', 'sign-in'],
  issuer_mismatch: ['Another service answered the sign-in', 'none'],
  exchange_interrupted: ['The connection broke during the sign-in', 'sign-in'],
  grant_rejected: ['The service refused the sign-in', 'sign-in'],
  client_rejected: ['The service does not accept this app', 'none'],
  login_required: ['Please sign in', 'sign-in'],
  session_ended: ['Your session has ended', 'sign-in'],
  session_changed: ['Another sign-in replaced this session', 'again'],
  temporarily_unavailable: ['The service is not available at the moment', 'again'],
  timeout: ['The service did not answer in time', 'again'],
  aborted: ['The request was cancelled', 'again'],
  response_invalid: ['The service gave an answer that makes no sense', 'again'],
  response_too_large: ['The service gave an answer that is too large', 'again'],
  storage_failed: ['The browser could not keep or read the session', 'again'],
  storage_degraded: ['The session will not survive a reload', 'none'],
  lock_timeout: ['Another tab is busy with the session', 'again'],
  origin_forbidden: ['This address may not receive the sign-in', 'none'],
  unauthenticated: ['The service did not accept the sign-in', 'sign-in'],
  client_not_approved: ['This app is not approved for your organisation', 'none'],
  permission_missing: ['You may not do this', 'none'],
  validation_failed: ['Something in the form is not right', 'none'],
  request_failed: ['The request failed', 'again'],
}

/** Returns the title, text and action that the page shows for a failure. */
export function errorText(error: unknown): ErrorText {
  if (isAgentApiError(error) && error.code === 'request_failed' && error.status === undefined) return unreached
  if (!isAgentAuthError(error)) return unreached
  const [title, offer] = rows[error.code]
  return { title, text: (isAgentApiError(error) && textOfApi(error)) || error.message, offer }
}

const unreached: ErrorText = {
  title: 'No connection',
  text: 'The service could not be reached. You are still signed in.',
  offer: 'again',
}

/** What the API says in its envelope, or of the first fault of a form. */
function textOfApi({ errorMessage, faults }: AgentApiError): string | undefined {
  return errorMessage || faults[0]?.msg
}
