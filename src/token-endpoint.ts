import {
  allowInsecureRequests,
  customFetch,
  refreshTokenGrantRequest,
  type TokenEndpointRequestOptions,
} from 'oauth4webapi'
import type { AuthConfig } from './config.ts'
import { AgentAuthError, isAgentAuthError } from './errors.ts'
import type { AuthEvent } from './events.ts'
import { abortedError, withDeadline } from './internal/timeouts.ts'
import { attempt, checkAwaited, checkNames, checkSignal, ownMembers, present } from './internal/values.ts'
import { classify, type GrantType, type TokenResult, tokenError } from './token-endpoint/classify-failure.ts'
import { inServiceDialect, type WireRequest } from './token-endpoint/dialect.ts'
import { readTokenResponse } from './token-endpoint/response.ts'
import { type Tokens, tokensFromResponse } from './tokens.ts'

/**
 * Sends one refresh and returns the new Tokens. The refresh token and the scope stay if the response leaves them out. A refresh
 * token that was kept as text is enough: `{ refreshToken }`, and the result is for `signIn` of a session. A session adds the
 * sharing of one refresh, retries and storage. Rejects with `login_required` without a refresh token,
 * `grant_rejected`, `client_rejected`, `config_invalid`, `response_invalid`, `response_too_large`,
 * `temporarily_unavailable`, `timeout` or `aborted`. Specification section 5.2, RFC 6749 section 6.
 */
export async function refreshTokens(
  config: AuthConfig,
  tokens: Partial<Tokens>,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<Tokens> {
  const { signal } = checkNames('refreshTokens', options, ['signal'])
  checkSignal(signal)
  checkAwaited('tokens', tokens)
  const previous = ownMembers(tokens)
  const { refreshToken } = previous
  if (!refreshToken) throw new AgentAuthError('login_required', 'There is no refresh token. Start a login.')
  return requestTokens(config, {
    grant: 'refresh_token',
    send: (server, client, authenticate, options) =>
      refreshTokenGrantRequest(server, client, authenticate, refreshToken, options),
    previous,
    signal,
  })
}

export interface TokenRequest {
  readonly grant: GrantType
  /** Calls the function of oauth4webapi for this grant, with the parameters that it needs. */
  send(
    server: { readonly issuer: string; readonly token_endpoint: string },
    client: { readonly client_id: string },
    authenticate: AuthConfig['authenticate'],
    options: TokenEndpointRequestOptions,
  ): Promise<Response>
  readonly previous: Partial<Tokens> | undefined
  readonly signal: AbortSignal | undefined
}

/**
 * Sends one token request and reads its response under one deadline, the option `timeoutMs`. It retries nothing and follows no redirect.
 * Specification section 5.2, RFC 6749 section 5.
 */
export async function requestTokens(config: AuthConfig, request: TokenRequest): Promise<Tokens> {
  const { clock, tokenEndpoint } = config
  const { grant, signal } = request
  // Checked here and not in `resultOf`, because an event would report a request that was not sent.
  if (signal?.aborted) throw abortedError()
  const { origin } = new URL(tokenEndpoint)
  const startedMs = clock.monotonicMs()
  // Taken before the request, so that a slow response does not make the life of a token longer.
  const obtainedAtMs = clock.wallMs()
  const result = await resultOf(config, request)
  const outcome = classify(grant, result)
  config.emit(
    present<Extract<AuthEvent, { type: 'token_request' }>>({
      type: 'token_request',
      grant,
      outcome,
      status: result.status,
      mistake: result.mistake,
      durationMs: clock.monotonicMs() - startedMs,
      origin,
    }),
  )
  if (outcome !== 'ok') throw tokenError(grant, result, outcome, { origin, nowMs: clock.wallMs() })
  const tokens = tokensFromResponse(result.body ?? {}, obtainedAtMs, request.previous)
  if (isReduced(tokens.scope, config.scope)) config.emit({ type: 'scope_reduced' })
  return tokens
}

/** Returns the response, or why there is none. An error of `fetch` goes no further, because it may quote a secret or a body. */
async function resultOf(config: AuthConfig, request: TokenRequest): Promise<TokenResult> {
  // `onLine` is read before the request, because a request may have been sent before the page goes offline. `onLine` can be false on a
  // working network. So it counts only for a refresh, which may be repeated, and not for a code.
  const isOffline = request.grant === 'refresh_token' && globalThis.navigator?.onLine === false
  try {
    return await withDeadline(config.timeoutMs, (signal) => roundTrip(config, request, signal), request.signal)
  } catch (error) {
    if (isAgentAuthError(error)) return { lost: error }
    const mistake = attempt(() => mistakeOf(error))
    return { lost: isOffline || attempt(() => config.wasNotSent(error)) ? 'not_sent' : 'unknown', mistake }
  }
}

async function roundTrip(config: AuthConfig, request: TokenRequest, signal: AbortSignal): Promise<TokenResult> {
  const { authUrl, authenticate, clientId, issuer = authUrl, tokenEndpoint } = config
  let url = tokenEndpoint
  const response = await request.send(
    { issuer, token_endpoint: tokenEndpoint },
    { client_id: clientId },
    authenticate,
    {
      // `createAuthConfig` decides where http may be.
      [allowInsecureRequests]: true,
      // oauth4webapi names itself in `User-Agent`, which a page may not send without a preflight.
      [customFetch]: (_url, { headers: { accept = '', authorization }, body }) => {
        const standard = {
          url: tokenEndpoint,
          headers: {
            accept,
            'content-type': 'application/x-www-form-urlencoded',
            ...(authorization && { authorization }),
          },
          body: String(body),
        }
        const wire = config.dialect === 'service' ? inServiceDialect(standard) : standard
        url = wire.url
        return send(config, wire, signal)
      },
    },
  )
  // The app's own fetch may return anything.
  if (typeof response?.headers?.get !== 'function') return { lost: 'unknown', mistake: 'no Response' }
  return readTokenResponse(response, url)
}

function send(config: AuthConfig, { url, headers, body }: WireRequest, signal: AbortSignal): Promise<Response> {
  const noStore: RequestInit = { cache: 'no-store' }
  return config.fetch(url, {
    // Cloudflare Workers with an old compatibility date do not know `cache`.
    ...(attempt(() => new Request(url, noStore)) && noStore),
    credentials: 'omit',
    referrerPolicy: 'no-referrer',
    method: 'POST',
    headers,
    body,
    redirect: 'manual',
    signal,
  })
}

/**
 * Returns the name of an error that comes from a mistake in the app's own `fetch`, or in its settings, and not from the network. The text
 * of the error may quote a secret, so only names of the language are returned.
 */
function mistakeOf(error: unknown): string | undefined {
  const { name, message } = Object(error)
  if (name === 'ReferenceError' || name === 'RangeError') return name
  // A network failure is a TypeError as well.
  const isWrongCall = /is not (a function|iterable|an accepted type)|^(Cannot (read|set|destructure)|Invalid )/.test(
    message,
  )
  return name === 'TypeError' && isWrongCall ? name : undefined
}

/**
 * Returns whether the granted scope lacks a requested name. The caller then emits `scope_reduced`, and still returns the tokens. If the
 * response to a refresh has no scope, `granted` is the scope of the previous tokens. If `granted` is undefined, the service granted
 * what was requested. RFC 6749 section 5.1.
 */
function isReduced(granted: string | undefined, asked: string): boolean {
  return granted !== undefined && asked.split(' ').some((name) => !granted.split(' ').includes(name))
}
