import type { AgentAuthErrorCode, AgentAuthErrorDetails } from '../errors.ts'
import { AgentAuthError } from '../errors.ts'
import type { TokenAnswer } from './answer.ts'

export type GrantType = 'authorization_code' | 'refresh_token'
export type Outcome = 'ok' | NonNullable<AgentAuthErrorDetails['outcome']>

/** Sorts an answer into its class: only `terminal` may end a session. RFC 6749 section 5.2. */
export function classify(grant: GrantType, { status, media, body }: TokenAnswer): Outcome {
  const success = status >= 200 && status < 300
  if (status === 429 || status === 503 || status === 408) return 'busy'
  if (status >= 500 || status < 200) return 'ambiguous'
  if (!success && status < 400) return 'config'
  if (media === 'foreign') return 'foreign'
  // A code the RFC does not know is no refusal of the grant; text that is no code at all says nothing.
  const error = body?.error
  if (typeof error === 'string' && /^[\w.:-]{1,64}$/.test(error)) return classifyError(grant, status, error)
  if (success) return body && !body.error && status <= 201 ? 'ok' : 'ambiguous'
  if (status > 401) return 'config'
  return body ? 'terminal' : 'foreign'
}

function classifyError(grant: GrantType, status: number, error: string): Outcome {
  if (error === 'invalid_grant') return 'terminal'
  if (error === 'server_error' || error === 'temporarily_unavailable') return 'busy'
  // The shape of our refresh is fixed, so a refusal of "the request" is a refusal of the token.
  return grant === 'refresh_token' && error === 'invalid_request' && status === 400 ? 'terminal' : 'config'
}

/** The `error` member when it looks like a code; other text could be an echo of what was sent. */
function errorCode(body: Record<string, unknown> | undefined): string | undefined {
  const error = body?.error
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : undefined
}

/** Makes the error for an answer that is not a success. */
export function outcomeError(grant: GrantType, outcome: Exclude<Outcome, 'ok'>, answer: TokenAnswer): AgentAuthError {
  const { status, retryAfterMs } = answer
  const error = errorCode(answer.body)
  const [code, advice] = verdict(grant, outcome, status, error)
  return new AgentAuthError(code, `The token endpoint answered ${status}${error ? ` ${error}` : ''}. ${advice}`, {
    status,
    retryable: code === 'temporarily_unavailable' || code === 'response_invalid',
    details: { outcome, ...(error && { error }), ...(retryAfterMs !== undefined && { retryAfterMs }) },
  })
}

function verdict(
  grant: GrantType,
  outcome: Exclude<Outcome, 'ok'>,
  status: number,
  error: string | undefined,
): [AgentAuthErrorCode, string] {
  if (outcome === 'terminal') return ['grant_rejected', 'The person must sign in again.']
  if (outcome === 'config')
    return error || (status >= 400 && status <= 403)
      ? ['client_rejected', 'Check the client id, its secret and its registration.']
      : ['config_invalid', 'Check authUrl and tokenEndpoint.']
  if (grant === 'authorization_code') return ['exchange_interrupted', 'Start the login again.']
  if (outcome === 'foreign')
    return ['temporarily_unavailable', 'It is not the service: this network may want a sign-in.']
  return status < 300 ? ['response_invalid', 'It holds no token.'] : ['temporarily_unavailable', 'Try again later.']
}
