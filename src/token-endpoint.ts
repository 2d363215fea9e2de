import type { AuthConfig } from './config.ts'
import { AgentAuthError, isAgentAuthError } from './errors.ts'
import type { AuthEvent } from './events.ts'
import { present } from './internal/present.ts'
import { withDeadline } from './internal/timeouts.ts'
import { classify, type Failure, type GrantType, type Outcome, outcomeError } from './token-endpoint/outcome.ts'
import { readTokenAnswer, type TokenAnswer } from './token-endpoint/response.ts'
import { overNetwork, TransportFailure } from './token-endpoint/transport.ts'
import { type Tokens, tokensFromResponse } from './tokens.ts'

export interface TokenRequest {
  readonly grant: GrantType
  /** Those of this grant, in the order of the form; what every grant sends is added. */
  readonly parameters: Readonly<Record<string, string>>
  readonly previous?: Tokens
  readonly signal?: AbortSignal | undefined
}

/**
 * Sends one token request and reads its answer under one deadline. Nothing is retried here, no redirect is followed, and
 * no error of the network gets out. Specification section 5.2, RFC 6749 section 5.
 */
export async function requestTokens(config: AuthConfig, request: TokenRequest): Promise<Tokens> {
  const { clock, tokenEndpoint, timeoutMs } = config
  const startedMs = clock.monotonicMs()
  const obtainedAtMs = clock.wallMs()
  // Looked at before: a network that goes away while the request is under way proves nothing. Nor does a browser know of
  // every network, and a code must not be sent again on its word.
  const offline = request.grant === 'refresh_token' && globalThis.navigator?.onLine === false
  let outcome: Outcome = 'ambiguous'
  let status: number | undefined
  try {
    const answer = await withDeadline(timeoutMs, (signal) => roundTrip(config, request, signal), request.signal)
    status = answer.status
    outcome = classify(request.grant, answer)
    if (outcome !== 'ok' || !answer.body) throw outcomeError(outcome as Failure, answer)
    const tokens = tokensFromResponse(answer.body, obtainedAtMs, request.previous)
    if (isReduced(tokens.scope, config.scope)) config.emit({ type: 'scope_reduced' })
    return tokens
  } catch (error) {
    if (outcome === 'ok') outcome = 'ambiguous'
    const isTransport = error instanceof TransportFailure
    if (!isTransport && !isAgentAuthError(error)) throw error
    if (isTransport && (offline || wasNotSent(error.reason))) outcome = 'not_sent'
    throw requestError(request.grant, outcome, error)
  } finally {
    config.emit(
      present<Extract<AuthEvent, { type: 'token_request' }>>({
        type: 'token_request',
        grant: request.grant,
        outcome,
        status,
        durationMs: clock.monotonicMs() - startedMs,
        origin: new URL(tokenEndpoint).origin,
      }),
    )
  }
}

async function roundTrip(config: AuthConfig, request: TokenRequest, signal: AbortSignal): Promise<TokenAnswer> {
  const [url, init] = await overNetwork(async () => wireRequest(config, request))
  const response = await overNetwork(() => config.fetch(url, { ...init, signal }))
  const nowMs = config.clock.wallMs()
  return overNetwork(() => readTokenAnswer(response, url, nowMs))
}

/** An absent scope is the one that was asked for. RFC 6749 section 5.1. */
function isReduced(granted: string | undefined, asked: string): boolean {
  return granted !== undefined && asked.split(' ').some((name) => !granted.split(' ').includes(name))
}

/** The service's dialect: `grant_type` in the query only, a form for the code, JSON for the refresh token. */
function wireRequest(
  { authorization: credentials, clientId, dialect, tokenEndpoint }: AuthConfig,
  { grant, parameters }: TokenRequest,
): [url: string, init: RequestInit] {
  const authorization = credentials()
  const inService = dialect === 'service'
  const json = inService && grant === 'refresh_token'
  const members = {
    ...parameters,
    ...(!inService && { grant_type: grant }),
    ...(!authorization && { client_id: clientId }),
  }
  return [
    inService ? `${tokenEndpoint}?grant_type=${grant}` : tokenEndpoint,
    {
      method: 'POST',
      body: json ? JSON.stringify(members) : `${new URLSearchParams(members)}`,
      headers: {
        accept: 'application/json',
        'content-type': json ? 'application/json' : 'application/x-www-form-urlencoded',
        ...(authorization && { authorization }),
      },
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'manual',
      referrerPolicy: 'no-referrer',
    },
  ]
}

/** Whether the failure came before a byte of the request left; only Node names the cause. */
function wasNotSent(error: unknown): boolean {
  const { code, syscall = 'connect' } = (error as { cause?: { code?: unknown; syscall?: unknown } } | null)?.cause ?? {}
  return (
    /^(connect|getaddrinfo)$/.test(String(syscall)) &&
    typeof code === 'string' &&
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(NET|HOST)UNREACH|UND_ERR_CONNECT_TIMEOUT)$|CERT|VERIFY/.test(code)
  )
}

/** A refresh may be repeated; a code that was sent is spent, whatever became of the answer. */
function requestError(grant: GrantType, outcome: Failure, error: unknown): AgentAuthError {
  const own = isAgentAuthError(error)
  if (own && !error.retryable) return error
  const spent = grant === 'authorization_code' && outcome !== 'not_sent'
  const what = outcome === 'not_sent' ? 'was not reached' : 'did not answer, or CORS hides its answer'
  const lost = own ? error : new AgentAuthError('temporarily_unavailable', `The token endpoint ${what}.`)
  const { code, message, status, details = { outcome } } = lost
  return new AgentAuthError(
    spent && code !== 'response_too_large' ? 'exchange_interrupted' : code,
    `${message} ${spent ? 'Start the login again.' : 'Try again.'}`,
    { retryable: !spent, status, details },
  )
}
