import { AgentAuthError, type AgentAuthErrorCode, type AgentAuthErrorDetails, isAgentAuthError } from '../errors.ts'
import { present } from '../internal/values.ts'
import { isTemporary, remedyFor } from '../oauth-error-codes.ts'
import { isBrowser } from '../service-url.ts'
import { hasBearerToken } from '../tokens.ts'
import { retryAfterMs, type TokenResponse } from './response.ts'

export type GrantType = 'authorization_code' | 'refresh_token'
/** The class of a failed token request. errors.ts defines each (`AgentAuthErrorDetails.outcome`). */
export type Failure = NonNullable<AgentAuthErrorDetails['outcome']>

/**
 * No response was read. `not_sent`: the request was not sent, as far as is known (`send`). `unknown`: it may have arrived. An error: the
 * library gave up.
 */
export interface Lost {
  readonly lost: 'not_sent' | 'unknown' | AgentAuthError
  /** What shows that the app's own `fetch` is wrong: `no Response`. */
  readonly mistake?: string | undefined
  readonly status?: undefined
  readonly body?: undefined
  readonly retryAfter?: undefined
}

export type TokenResult = TokenResponse | Lost

/** The text of an `error` that counts as a code, also one that no specification names. */
const anyCode = /^[\w.:-]{1,64}$/
/** The form of the codes that `details.error` may have. A message quotes only those that oauth-error-codes.ts knows. */
const shownCode = /^[a-z_]{1,64}$/

/**
 * Sorts the result of a token request by the table of docs/sessions.md. The order of the lines counts, because statuses overlap. Only
 * `terminal` may end a session.
 */
export function classify(grant: GrantType, result: TokenResult): 'ok' | Failure {
  if ('lost' in result) {
    if (result.mistake) return 'config'
    return result.lost === 'not_sent' ? 'not_sent' : 'ambiguous'
  }
  const { status, media, body, moved } = result
  // A redirect, followed or not, means a wrong address.
  if (moved || (status >= 300 && status < 400)) return 'config'
  // 429 and 503: the service asks to wait. 408: the request was too slow. A refresh may be sent again later. A code may not, because it
  // counts as used once it was sent (`tokenError`).
  if ([408, 429, 503].includes(status)) return 'busy'
  // 5xx: a server or a proxy failed, which is no verdict on the grant. Below 200: an opaque response, which only a `fetch` of the app can
  // give, has the status 0.
  if (status >= 500 || status < 200) return 'ambiguous'
  if (media === 'foreign') return 'foreign'
  const error = body?.error
  // An `error` that is a code decides, in a 2xx as in a 4xx. RFC 6749 section 5.2.
  if (typeof error === 'string' && anyCode.test(error)) return classifyError(grant, status, error)
  // The only success is 200 or 201 with a token, whose `error` is absent or empty. Any other 2xx says nothing about the grant.
  if (status < 300) return status <= 201 && body && !error && hasBearerToken(body) ? 'ok' : 'ambiguous'
  // From here on, an `error` that is no code counts as absent. 402 and above are about the request, 400 and 401 about the grant.
  if (status > 401) return 'config'
  // The service's specification shows no error bodies, so that a JSON 400 or 401 without a code counts as a refused grant.
  return body ? 'terminal' : 'foreign'
}

function classifyError(grant: GrantType, status: number, error: string): Failure {
  if (isTemporary(error)) return 'busy'
  // The form of a refresh is fixed, so that a refused request means a refused token.
  const refused = grant === 'refresh_token' && error === 'invalid_request' && status === 400
  return refused || error === 'invalid_grant' ? 'terminal' : 'config'
}

const checkAddress = 'Developer: check authUrl and tokenEndpoint.'

/** Returns the error for a token request that failed, which says what the caller can do. `origin` is that of the token endpoint. */
export function tokenError(
  grant: GrantType,
  result: TokenResult,
  outcome: Failure,
  { origin, nowMs }: { readonly origin: string; readonly nowMs: number },
): AgentAuthError {
  // An error of the library that is not retryable, for example `aborted`, is returned as it is. It says nothing about the endpoint, so it
  // has no `details.outcome`. The event `token_request` has the outcome `ambiguous`.
  if ('lost' in result && isAgentAuthError(result.lost) && !result.lost.retryable) return result.lost
  const error = readableCode(result.body)
  const [code, message] =
    'lost' in result ? verdictOnLost(result, origin) : verdictOnResponse(outcome, result, error, origin)
  const details = present<AgentAuthErrorDetails>({
    outcome,
    error,
    retryAfterMs: retryAfterMs(result.retryAfter, nowMs),
  })
  const { status } = result
  if (outcome === 'terminal' || outcome === 'config') return new AgentAuthError(code, message, { status, details })
  // A code that was sent counts as used, so that only a new login can help.
  const retryable = grant === 'refresh_token' || outcome === 'not_sent'
  return new AgentAuthError(
    retryable || code === 'response_too_large' ? code : 'exchange_interrupted',
    `${message} ${retryable ? 'Try again.' : 'Start the login again.'}`,
    { retryable, status, details },
  )
}

/** Returns the code and the first sentences of the message for a request whose response was not read. */
function verdictOnLost({ lost, mistake }: Lost, origin: string): [AgentAuthErrorCode, message: string] {
  if (mistake) return ['config_invalid', `The option fetch ended with ${mistake}. Correct it.`]
  if (isAgentAuthError(lost)) return [lost.code, lost.message]
  const orPage = isBrowser() ? ', or CORS or CSP refuses this page' : ''
  const fate = lost === 'not_sent' ? 'was not reached' : `did not respond${orPage}`
  return ['temporarily_unavailable', `${origin} ${fate}. ${checkAddress}`]
}

/** Returns the code and the first sentences of the message for a response that is no success. */
function verdictOnResponse(
  outcome: Failure,
  { status, moved }: TokenResponse,
  error: string | undefined,
  origin: string,
): [AgentAuthErrorCode, message: string] {
  const remedy = remedyFor(error)
  const what = `${origin} ${moved ? 'redirected' : `responded with ${status}${remedy ? ` ${error}` : ''}`}`
  if (outcome === 'terminal') return ['grant_rejected', `${what}. The user must sign in again.`]
  if (outcome === 'foreign')
    return ['temporarily_unavailable', `${what} and no JSON. ${checkAddress} This network may require a sign-in.`]
  if (outcome !== 'config')
    return status < 300 ? ['response_invalid', `${what} and no usable token.`] : ['temporarily_unavailable', `${what}.`]
  // A shown code means that the service refused the client, and so does a 402 or 403 without one. A 400 or 401 without a shown code
  // had one that is not shown, and means the same. Any other status means a wrong address.
  return error || (status >= 400 && status <= 403)
    ? ['client_rejected', `${what}. ${remedy ?? remedyFor('invalid_client')}`]
    : ['config_invalid', `${what}. ${checkAddress}`]
}

/** Returns the `error` of a response. Text of another form could be an echo of what was sent. */
function readableCode(body: Record<string, unknown> | undefined): string | undefined {
  return typeof body?.error === 'string' && shownCode.test(body.error) ? body.error : undefined
}
