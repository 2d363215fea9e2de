import {
  type AuthorizationServer,
  allowInsecureRequests,
  type Client,
  customFetch,
  type TokenEndpointRequestOptions,
} from 'oauth4webapi'
import type { AuthConfig } from './config.ts'
import { withDeadline } from './deadline.ts'
import { AgentAuthError, isAgentAuthError } from './errors.ts'
import { readTokenAnswer, type TokenAnswer } from './token-endpoint/answer.ts'
import { classify, type GrantType, type Outcome, outcomeError } from './token-endpoint/outcome.ts'
import { type Tokens, tokensFromResponse } from './tokens.ts'

export interface TokenRequest {
  readonly grant: GrantType
  /** Builds the RFC 6749 request; the dialect is applied where it would go out. */
  send(server: AuthorizationServer, client: Client, options: TokenEndpointRequestOptions): Promise<Response>
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
  let outcome: Outcome = 'ambiguous'
  let status: number | undefined
  try {
    const answer = await withDeadline(timeoutMs, (signal) => roundTrip(config, request, signal), request.signal)
    status = answer.status
    outcome = classify(request.grant, answer)
    if (outcome !== 'ok' || !answer.body) throw outcomeError(request.grant, outcome as Exclude<Outcome, 'ok'>, answer)
    const tokens = tokensFromResponse(answer.body, obtainedAtMs, request.previous)
    if (tokens.scope && !tokens.scope.split(' ').includes(config.scope)) config.emit({ type: 'scope_reduced' })
    return tokens
  } catch (error) {
    if (isAgentAuthError(error)) {
      if (outcome === 'ok') outcome = 'ambiguous'
      throw error
    }
    if (wasNotSent(error)) outcome = 'not_sent'
    throw networkError(request.grant, outcome)
  } finally {
    const durationMs = clock.monotonicMs() - startedMs
    const { origin } = new URL(tokenEndpoint)
    const event = { type: 'token_request', grant: request.grant, outcome, durationMs, origin } as const
    config.emit(status === undefined ? event : { ...event, status })
  }
}

async function roundTrip(config: AuthConfig, { send }: TokenRequest, signal: AbortSignal): Promise<TokenAnswer> {
  const { authUrl, clientId, tokenEndpoint } = config
  let requested = tokenEndpoint
  const response = await send(
    { issuer: config.issuer ?? authUrl, token_endpoint: tokenEndpoint },
    { client_id: clientId },
    {
      [allowInsecureRequests]: true,
      [customFetch]: (_url, { body, headers }) => {
        const [url, init] = wireRequest(config, body as URLSearchParams, headers)
        requested = url
        return config.fetch(url, { ...init, signal })
      },
    },
  )
  // An opaque redirect has status 0; a fetch that ignored `redirect` has already carried the body away.
  const moved = response.url && response.url !== new URL(requested).href
  const redirected = moved || response.redirected || response.type === 'opaqueredirect'
  const answer = redirected
    ? { status: 302, media: 'foreign' as const }
    : await readTokenAnswer(response, config.clock.wallMs())
  if (redirected) await response.body?.cancel()
  return answer
}

/** The service's dialect: `grant_type` in the query only, a form for the code, JSON for the refresh token. */
function wireRequest(
  { dialect, tokenEndpoint }: AuthConfig,
  parameters: URLSearchParams,
  { authorization }: Record<string, string>,
): [url: string, init: RequestInit] {
  const grant = parameters.get('grant_type')
  const inService = dialect === 'service'
  const json = inService && grant === 'refresh_token'
  if (inService) parameters.delete('grant_type')
  return [
    inService ? `${tokenEndpoint}?grant_type=${grant}` : tokenEndpoint,
    {
      method: 'POST',
      body: json ? JSON.stringify(Object.fromEntries(parameters)) : parameters.toString(),
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

/** Whether the failure came before a byte of the request left: Node names the cause, a browser only knows it is offline. */
function wasNotSent(error: unknown): boolean {
  const code = (error as { cause?: { code?: unknown } } | null)?.cause?.code
  if (globalThis.navigator?.onLine === false) return true
  return (
    typeof code === 'string' &&
    /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|E(NET|HOST)UNREACH|UND_ERR_CONNECT_TIMEOUT)$|CERT|VERIFY/.test(code)
  )
}

function networkError(grant: GrantType, outcome: Outcome): AgentAuthError {
  const sent = outcome !== 'not_sent'
  return sent && grant === 'authorization_code'
    ? new AgentAuthError('exchange_interrupted', 'The answer of the token endpoint was lost. Start the login again.', {
        details: { outcome: 'ambiguous' },
      })
    : new AgentAuthError(
        'temporarily_unavailable',
        sent
          ? 'The answer of the token endpoint was lost, or CORS hides it. Try again.'
          : 'The token endpoint was not reached. Try again when online.',
        {
          retryable: true,
          details: { outcome: sent ? 'ambiguous' : 'not_sent' },
        },
      )
}
