import type { AuthConfig } from './config.ts'
import { withDeadline } from './deadline.ts'
import { discardBody } from './discard-body.ts'
import { AgentAuthError, isAgentAuthError } from './errors.ts'
import { readTokenAnswer, type TokenAnswer } from './token-endpoint/answer.ts'
import { classify, type GrantType, type Outcome, outcomeError } from './token-endpoint/outcome.ts'
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
 * no foreign error gets out. Specification section 5.2, RFC 6749 section 5.
 */
export async function requestTokens(config: AuthConfig, request: TokenRequest): Promise<Tokens> {
  const { clock, tokenEndpoint, timeoutMs } = config
  const startedMs = clock.monotonicMs()
  const obtainedAtMs = clock.wallMs()
  // Looked at before: a network that goes away while the request is under way proves nothing.
  const offline = globalThis.navigator?.onLine === false
  let outcome: Outcome = 'ambiguous'
  let status: number | undefined
  try {
    const answer = await withDeadline(timeoutMs, (signal) => roundTrip(config, request, signal), request.signal)
    status = answer.status
    outcome = classify(request.grant, answer)
    if (outcome !== 'ok' || !answer.body) throw outcomeError(request.grant, outcome as Exclude<Outcome, 'ok'>, answer)
    const tokens = tokensFromResponse(answer.body, obtainedAtMs, request.previous)
    if (isReduced(tokens.scope, config.scope)) config.emit({ type: 'scope_reduced' })
    return tokens
  } catch (error) {
    if (outcome === 'ok') outcome = 'ambiguous'
    if (!isAgentAuthError(error) && (offline || wasNotSent(error))) outcome = 'not_sent'
    throw requestError(request.grant, outcome, error)
  } finally {
    const durationMs = clock.monotonicMs() - startedMs
    const { origin } = new URL(tokenEndpoint)
    const event = { type: 'token_request', grant: request.grant, outcome, durationMs, origin } as const
    config.emit(status === undefined ? event : { ...event, status })
  }
}

async function roundTrip(config: AuthConfig, request: TokenRequest, signal: AbortSignal): Promise<TokenAnswer> {
  const [requested, init] = wireRequest(config, request)
  const response = await config.fetch(requested, { ...init, signal })
  // An opaque redirect has status 0; a fetch that ignored `redirect` has already carried the body away.
  const moved = response.url && response.url !== new URL(requested).href
  const redirected = moved || response.redirected || response.type === 'opaqueredirect'
  const answer = redirected
    ? { status: 302, media: 'foreign' as const }
    : await readTokenAnswer(response, config.clock.wallMs())
  if (redirected) discardBody(response)
  return answer
}

/** An absent scope is the one that was asked for. RFC 6749 section 5.1. */
function isReduced(granted: string | undefined, asked: string): boolean {
  const names = granted?.split(' ')
  return names !== undefined && !asked.split(' ').every((name) => names.includes(name))
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
  if (syscall !== 'connect' && syscall !== 'getaddrinfo') return false
  return (
    typeof code === 'string' &&
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(NET|HOST)UNREACH|UND_ERR_CONNECT_TIMEOUT)$|CERT|VERIFY/.test(code)
  )
}

/** A refresh may be repeated; a code that was sent is spent, whatever became of the answer. */
function requestError(grant: GrantType, outcome: Outcome, error: unknown): AgentAuthError {
  const spent = grant === 'authorization_code' && outcome !== 'not_sent'
  const lost = spent ? 'exchange_interrupted' : 'temporarily_unavailable'
  if (isAgentAuthError(error)) {
    if (!error.retryable) return error
    const { code, message, status, details = { outcome: 'ambiguous' } } = error
    if (!spent) return new AgentAuthError(code, message, { retryable: true, status, details })
    const kept = code === 'response_too_large' ? code : lost
    return new AgentAuthError(kept, `${message} Start the login again.`, {
      status,
      details,
    })
  }
  const what = outcome === 'not_sent' ? 'was not reached' : 'did not answer, or CORS hides its answer'
  return new AgentAuthError(lost, `The token endpoint ${what}. ${spent ? 'Start the login again.' : 'Try again.'}`, {
    retryable: !spent,
    details: { outcome: outcome === 'not_sent' ? outcome : 'ambiguous' },
  })
}
