import type { AuthConfig } from './config.ts'
import { isAgentAuthError } from './errors.ts'
import type { AuthEvent } from './events.ts'
import { attempt } from './internal/attempt.ts'
import { present } from './internal/plain-object.ts'
import { abortedError, withDeadline } from './internal/timeouts.ts'
import { unconnected } from './internal/unconnected.ts'
import { classify, type GrantType, type TokenResult, tokenError } from './token-endpoint/classify-failure.ts'
import { readTokenResponse, type TokenResponse } from './token-endpoint/response.ts'
import { type Tokens, tokensFromResponse } from './tokens.ts'

export interface TokenRequest {
  readonly grant: GrantType
  /**
   * The parameters of this grant, in the order of the body, which is a form or JSON. `wireRequest` adds `grant_type` and `client_id` if the
   * body needs them.
   */
  readonly parameters: Readonly<Record<string, string>>
  readonly previous: Partial<Tokens> | undefined
  readonly signal: AbortSignal | undefined
}

/**
 * Sends one token request and reads its response under one deadline (`timeoutMs`, default: 10 s). It retries nothing. The request tells
 * `fetch` not to follow a redirect. A redirect counts as wrong configuration, also one that was followed all the same, and a body over
 * 256 KiB is `response_too_large` (token-endpoint/response.ts). Section 5.2 of the specification of the service, RFC 6749 section 5.
 */
export async function requestTokens(config: AuthConfig, request: TokenRequest): Promise<Tokens> {
  const { clock, tokenEndpoint } = config
  const { grant, signal } = request
  // Checked here and not in `send`, because an event would report a request that was not sent.
  if (signal?.aborted) throw abortedError()
  const { origin } = new URL(tokenEndpoint)
  const startedMs = clock.monotonicMs()
  // Taken before the request, so that a slow response does not make the life of a token longer.
  const obtainedAtMs = clock.wallMs()
  const result = await send(config, request)
  const nowMs = clock.wallMs()
  const outcome = classify(grant, result)
  config.emit(
    present<Extract<AuthEvent, { type: 'token_request' }>>({
      type: 'token_request',
      grant,
      outcome,
      status: result.status,
      durationMs: clock.monotonicMs() - startedMs,
      origin,
    }),
  )
  if (outcome !== 'ok') throw tokenError(grant, result, outcome, { origin, nowMs, client: config.clientKind })
  const tokens = tokensFromResponse(result.body ?? {}, obtainedAtMs, request.previous)
  if (isReduced(tokens.scope, config.scope)) config.emit({ type: 'scope_reduced' })
  return tokens
}

/** Returns the response, or why there is none. An error of the network goes no further, because it may quote a secret or a body. */
async function send(config: AuthConfig, request: TokenRequest): Promise<TokenResult> {
  // `onLine` is read before the request, because a request may have been sent before the page goes offline. `onLine` can be false on a
  // working network. So it counts only for a refresh, which may be repeated, and not for a code.
  const isOffline = request.grant === 'refresh_token' && globalThis.navigator?.onLine === false
  const roundTrip = async (signal: AbortSignal): Promise<TokenResponse> => {
    const [url, init] = wireRequest(config, request)
    return readTokenResponse(await config.fetch(url, { ...init, signal }), url)
  }
  try {
    return await withDeadline(config.timeoutMs, roundTrip, request.signal)
  } catch (error) {
    if (isAgentAuthError(error)) return { lost: error }
    return { lost: isOffline || attempt(() => wasNotSent(error)) ? 'not_sent' : 'unknown' }
  }
}

/**
 * Returns whether the granted scope lacks a requested name. The caller then emits `scope_reduced`, and still returns the tokens. If the
 * response to a refresh has no scope, `granted` is the scope of the previous tokens. If `granted` is undefined, the service granted
 * what was requested. RFC 6749 section 5.1.
 */
function isReduced(granted: string | undefined, asked: string): boolean {
  return granted !== undefined && asked.split(' ').some((name) => !granted.split(' ').includes(name))
}

/** Builds the request. In the service's dialect `grant_type` is only in the query, and a refresh has a JSON body. */
function wireRequest(
  { authorization: authorizationHeader, clientId, dialect, tokenEndpoint }: AuthConfig,
  { grant, parameters }: TokenRequest,
): [url: string, init: RequestInit] {
  const authorization = authorizationHeader()
  const usesServiceDialect = dialect === 'service'
  const json = usesServiceDialect && grant === 'refresh_token'
  const members = {
    ...parameters,
    ...(!usesServiceDialect && { grant_type: grant }),
    ...(!authorization && { client_id: clientId }),
  }
  return [
    usesServiceDialect ? `${tokenEndpoint}?grant_type=${grant}` : tokenEndpoint,
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

/**
 * Returns whether the failure came before a byte of the request was sent: no connection, or a certificate that Node refuses. Only the
 * `fetch` of Node names the cause. Throws if a member of the cause cannot be read or converted to text.
 */
function wasNotSent(error: unknown): boolean {
  // An error without a `syscall`, such as one about a certificate, counts as one of `connect`.
  const { code = '', syscall = 'connect' } =
    (error as { cause?: { code?: string; syscall?: string } } | null)?.cause ?? {}
  // `syscall` is tested, because a `read` or a `write` can fail with a code of `unconnected` as well. Then there was a connection, and
  // bytes may have been sent. Node has about thirty codes for a refused certificate. The expression matches parts of their names, because
  // a set would be larger. A code that it misses counts as unknown. `CERT(?!I)` matches `CERT`, but not `CERTIFICATE`, which is in the
  // names of TLS alerts, such as `ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED`. The server may send an alert after the request, so an alert
  // counts as unknown.
  return (
    /^(connect|getaddrinfo)$/.test(syscall) &&
    (unconnected.test(code) || /CERT(?!I)|VERIFY|CRL|INVALID_(CA|PURPOSE)|PATH_LENGTH|HOSTNAME_/.test(code))
  )
}
