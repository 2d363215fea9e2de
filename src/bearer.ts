import { type Call, callOf } from './bearer/call.ts'
import { refusesRetry } from './bearer/challenge.ts'
import { allowedTargets, type BearerTargets, forbidden, hasUserInfo, pageUrl, type TargetOf } from './bearer/targets.ts'
import { isAgentAuthError } from './errors.ts'
import { abortedError } from './internal/timeouts.ts'
import { checkNames, invalid } from './internal/values.ts'
import type { AccessTokenSource } from './session.ts'
import { discardBody } from './token-endpoint/response.ts'
import { isTokenText } from './tokens.ts'

/** The options of `createBearerFetch`. */
export type BearerFetchOptions = BearerTargets & {
  /** Host names that the targets may have with http, as in `createAuthConfig`. A browser refuses them. Default: none. */
  readonly allowHttpHosts?: readonly string[] | undefined
  /** Sends the requests. Default: the platform's `fetch`, looked up at each call. */
  readonly fetch?: typeof fetch | undefined
  /** Sets what happens to a request that must not carry the token: `pass` sends it without, `reject` throws. Default: `pass`. */
  readonly elsewhere?: 'pass' | 'reject' | undefined
}

const optionNames: readonly (keyof BearerFetchOptions)[] = [
  'baseUrl',
  'origins',
  'allowHttpHosts',
  'fetch',
  'elsewhere',
]

/**
 * Returns a `fetch` that adds `Authorization: Bearer …` to requests under `baseUrl` or `origins`, and to no other request. It
 * retries a 401 once with a newer token and the same bytes, unless its Bearer challenge says `insufficient_scope` or
 * `invalid_request`. A request with its own `Authorization` is sent as it is. That one, and
 * one whose body cannot be sent twice, is not retried. The request's `signal` ends its wait for a token as well, but no refresh that
 * other calls share. `source` is a session, or the text of a user session token, which
 * cannot be refreshed. The call rejects as `fetch` does, with the codes of `getAccessToken`, or with `origin_forbidden`.
 * Throws `config_invalid`. RFC 6750 sections 2.1 and 3.1, specification section 5.
 */
export function createBearerFetch(source: AccessTokenSource | string, options: BearerFetchOptions): typeof fetch {
  const tokens = typeof source === 'string' ? fixedToken(source) : source
  if (typeof Object(tokens).getAccessToken !== 'function')
    invalid('source, the first argument, must be an object with getAccessToken, such as createSession(config)')
  const own = checkNames('createBearerFetch', options, optionNames)
  const { elsewhere = 'pass' } = own
  if (elsewhere !== 'pass' && elsewhere !== 'reject') invalid('elsewhere must be pass or reject')
  const onElsewhere = elsewhere === 'reject' ? tokenMayNotGo : own.baseUrl ? rejectPathOfPage : undefined
  return bearerFetch(tokens, { targetOf: allowedTargets(own), fetch: own.fetch, onElsewhere })
}

export interface Sending {
  /** Says which requests get the token. */
  readonly targetOf: TargetOf
  readonly fetch: typeof fetch | undefined
  /** Called for a request that must not carry the token. If it does not throw, the request is sent without the token. */
  readonly onElsewhere: ((input: Parameters<typeof fetch>[0]) => void) | undefined
}

/** Does the work of `createBearerFetch` for callers that have checked the options. */
export function bearerFetch(tokens: AccessTokenSource, sending: Sending): typeof fetch {
  const { targetOf, fetch: injected, onElsewhere } = sending
  return async (input, init) => {
    const send = injected ?? fetch
    const call = callOf(targetOf, input, init)
    if (!call) {
      if (hasUserInfo(input)) throw forbidden('A URL must not hold a user name or password.')
      onElsewhere?.(input)
      return send(input, init)
    }
    // The caller's own header wins: the request is sent as it is, and its 401 is returned without a retry.
    if (call.headers.has('authorization')) return send(...call.first)
    const token = await firstToken(tokens, call)
    call.headers.set('authorization', `Bearer ${token}`)
    const { again, release } = call.keep()
    let response: Response | undefined
    try {
      response = await send(...call.first)
      if (response.status !== 401 || refusesRetry(response.headers)) return response
      // The platform removes the header in a redirect to another origin, and keeps it within the origin, also outside of `baseUrl`.
      // In both cases the 401 is not that of an allowed URL.
      if (response.redirected && !(response.url && targetOf(response.url))) return response
      const newer = await newerToken(tokens, { rejected: token, signal: call.signal })
      const second = newer === token ? undefined : await again(`Bearer ${newer}`)
      if (!second) return response
      discardBody(response)
      return await send(...second)
    } catch (error) {
      if (response) discardBody(response)
      throw error
    } finally {
      release?.()
    }
  }
}

/** Cancels a body that is not sent, so that its source is closed. */
async function firstToken(source: AccessTokenSource, { signal, body }: Call): Promise<string> {
  try {
    if (signal?.aborted) throw abortedError()
    return checkToken(await source.getAccessToken({ signal }))
  } catch (error) {
    const reason = reasonOf(error, signal)
    if (body instanceof ReadableStream) body.cancel(reason).catch(() => {})
    throw reason
  }
}

/** Without a page the platform would only say that the path is no URL. */
function rejectPathOfPage(input: Parameters<typeof fetch>[0]): void {
  if (typeof input === 'string' && /^\/\w/.test(input) && !pageUrl()) invalid('the path must be under that of baseUrl')
}

function tokenMayNotGo(): never {
  throw forbidden('The token may not go to this URL. Check baseUrl or origins.')
}

/** Returns a source of one token, for a user session token, which stays the same after a 401. */
function fixedToken(text: string): AccessTokenSource {
  const token = checkToken(text)
  return { getAccessToken: async () => token }
}

async function newerToken(
  source: AccessTokenSource,
  options: { rejected: string; signal: AbortSignal | null | undefined },
): Promise<string> {
  const { rejected, signal } = options
  try {
    return checkToken(await source.getAccessToken(options))
  } catch (error) {
    // If the token cannot be refreshed, the API's 401 tells the caller more than an error would.
    if (!signal?.aborted && isAgentAuthError(error) && error.code === 'login_required') return rejected
    throw reasonOf(error, signal)
  }
}

/** A caller that aborts a `fetch` expects its own reason back. */
function reasonOf(error: unknown, signal: AbortSignal | null | undefined): unknown {
  return signal?.aborted && signal.reason !== undefined ? signal.reason : error
}

/** Throws before the platform does, because its error quotes the header. */
function checkToken(token: unknown): string {
  if (isTokenText(token)) return token
  invalid('the access token must be printable ASCII without spaces')
}
