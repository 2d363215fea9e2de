import type { AgentAuthErrorCode, AgentAuthErrorDetails } from '../errors.ts'
import { AgentAuthError } from '../errors.ts'
import { present } from '../internal/present.ts'
import { remedyFor } from '../refusals.ts'
import type { TokenAnswer } from './response.ts'

export type GrantType = 'authorization_code' | 'refresh_token'
export type Failure = NonNullable<AgentAuthErrorDetails['outcome']>
export type Outcome = 'ok' | Failure

/** Sorts an answer into its class: only `terminal` may end a session. RFC 6749 section 5.2. */
export function classify(grant: GrantType, { status, media, body }: TokenAnswer): Outcome {
  if ([408, 429, 503].includes(status)) return 'busy'
  if (status >= 500 || status < 200) return 'ambiguous'
  const success = status < 300
  if (!success && status < 400) return 'config'
  if (media === 'foreign') return 'foreign'
  // A code the RFC does not know is no refusal of the grant; text that is no code at all says nothing.
  const error = body?.error
  if (typeof error === 'string' && /^[\w.:-]{1,64}$/.test(error)) return classifyError(grant, status, error)
  if (success) return body && !error && status <= 201 ? 'ok' : 'ambiguous'
  if (status > 401) return 'config'
  return body ? 'terminal' : 'foreign'
}

function classifyError(grant: GrantType, status: number, error: string): Outcome {
  if (/^(server_error|temporarily_unavailable)$/.test(error)) return 'busy'
  // The shape of our refresh is fixed, so a refusal of "the request" is a refusal of the token.
  const refused = grant === 'refresh_token' && error === 'invalid_request' && status === 400
  return refused || error === 'invalid_grant' ? 'terminal' : 'config'
}

/** Makes the error for an answer that is not a success; the retryable ones say what happened, and not yet what to do. */
export function outcomeError(outcome: Failure, { status, retryAfterMs, body }: TokenAnswer): AgentAuthError {
  // Text that does not look like a code could be an echo of what was sent.
  const error = typeof body?.error === 'string' && /^[a-z_]{1,64}$/.test(body.error) ? body.error : undefined
  const remedy = remedyFor(error)
  const [code, advice] = verdict(outcome, status, error, remedy)
  return new AgentAuthError(code, `The token endpoint answered ${status}${remedy ? ` ${error}` : ''}.${advice}`, {
    status,
    retryable: code === 'temporarily_unavailable' || code === 'response_invalid',
    details: present<AgentAuthErrorDetails>({ outcome, error, retryAfterMs }),
  })
}

function verdict(
  outcome: Failure,
  status: number,
  error: string | undefined,
  remedy = 'Developer: check the client id, secret and registration.',
): [AgentAuthErrorCode, string] {
  if (outcome === 'terminal') return ['grant_rejected', ' The user must sign in again.']
  if (outcome === 'config')
    return error || (status >= 400 && status <= 403)
      ? ['client_rejected', ` ${remedy}`]
      : ['config_invalid', ' Developer: check authUrl and tokenEndpoint.']
  if (outcome === 'foreign') return ['temporarily_unavailable', ' This network may want a sign-in.']
  return [status < 300 ? 'response_invalid' : 'temporarily_unavailable', '']
}
