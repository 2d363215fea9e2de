import { refusesRetry } from './bearer/challenge.ts'
import { allowedTargets, type BearerTargets, forbid, originOf, type TargetOf } from './bearer/targets.ts'
import { isAgentAuthError } from './errors.ts'
import { abortedError, sleep } from './internal/timeouts.ts'
import { checkMethods, checkNames, invalid } from './internal/values.ts'
import type { AccessTokenSource } from './session.ts'
import { discardBody, readAtMost } from './token-endpoint/response.ts'
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
  // A user session token stays the same after a 401.
  const tokens = typeof source === 'string' ? { getAccessToken: async () => source } : source
  if (typeof source === 'string') checkToken(source)
  checkMethods('source', tokens, ['getAccessToken'])
  const names = ['baseUrl', 'origins', 'allowHttpHosts', 'fetch', 'elsewhere']
  const own = checkNames('createBearerFetch', options, names)
  const onElsewhere = (own.elsewhere ?? 'pass') === 'pass' ? undefined : forbid
  return bearerFetch(tokens, { targetOf: allowedTargets(own, own.allowHttpHosts), fetch: own.fetch, onElsewhere })
}

type FetchArguments = Parameters<typeof fetch>

export interface Sending {
  /** Says which requests get the token. */
  readonly targetOf: TargetOf
  readonly fetch: typeof fetch | undefined
  /** Called with the origin of a request that must not carry the token. If it does not throw, the request is sent without the token. */
  readonly onElsewhere: ((origin: string | undefined) => void) | undefined
}

/** A request that may carry the token, as it was when the caller made it. */
interface Call {
  readonly first: FetchArguments
  /** The headers of `first`. */
  readonly headers: Headers
  readonly signal: AbortSignal | null | undefined
  readonly body: unknown
  /** Resolves to the same request with the same bytes and the present headers, or undefined if its body cannot be sent twice. */
  again(): Promise<FetchArguments | undefined>
  /** Frees the copy of the body. */
  release?(reason?: unknown): void
}

/** Does the work of `createBearerFetch` for callers that have checked the options. */
export function bearerFetch(
  tokens: AccessTokenSource,
  { targetOf, fetch: injected, onElsewhere }: Sending,
): typeof fetch {
  return async (input, init) => {
    const send = injected ?? fetch
    const call = callOf(targetOf, input, init)
    if (!call) {
      const origin = originOf(input)
      onElsewhere?.(origin)
      return send(input, init)
    }
    try {
      // The caller's own header wins: the request is sent as it is, and its 401 is returned without a retry.
      if (call.headers.has('authorization')) return await send(...call.first)
      const token = await tokenFor(call, tokens)
      call.headers.set('authorization', `Bearer ${token}`)
      const response = await send(...call.first)
      if (response.status !== 401 || refusesRetry(response.headers)) return response
      // The platform removes the header in a redirect to another origin, and keeps it within the origin, also outside of `baseUrl`.
      // In both cases the 401 is not that of an allowed URL.
      if (response.redirected && !(response.url && targetOf(response.url))) return response
      const newer = await tokenFor(call, tokens, token).catch((error) => {
        discardBody(response)
        throw error
      })
      call.headers.set('authorization', `Bearer ${newer}`)
      const second = newer === token ? undefined : await call.again()
      if (!second) return response
      discardBody(response)
      return await send(...second)
    } finally {
      // It also keeps the Request until here: Node forgets the signal of one that nothing holds.
      call.release?.()
    }
  }
}

/** Returns undefined for a request that must not carry the token. What is sent has the URL that was checked. */
function callOf(targetOf: TargetOf, input: FetchArguments[0], init: RequestInit | undefined): Call | undefined {
  const url = targetOf(input)
  if (url === undefined) return undefined
  const prototype = Object.getPrototypeOf(init ?? Object.prototype)
  if ((prototype === null || prototype === Object.prototype) && !(input instanceof Request))
    return settingsCall(url, init)
  const kept = input instanceof Request && !init ? input : new Request(input instanceof Request ? input : url, init)
  const request = kept.clone()
  // The Request of the caller can show another URL than its own.
  return request.url === url || targetOf(request.url) ? requestCall(kept, request) : forbid()
}

function settingsCall(url: string, init: RequestInit | undefined): Call {
  const settings = { ...init, headers: new Headers(init?.headers) }
  const { body, headers, signal } = settings
  const copy = copyOf(body)
  if (copy) settings.body = copy
  const first: FetchArguments = [url, settings]
  return { first, headers, signal, body, again: async () => (body && !copy ? undefined : first) }
}

/** Returns a body that the caller cannot change later, or undefined for one that is read once. */
function copyOf(body: RequestInit['body']): RequestInit['body'] {
  if (typeof body === 'string' || body instanceof Blob) return body
  if (body instanceof ArrayBuffer) return body.slice(0)
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice()
  const copy = body instanceof URLSearchParams ? new URLSearchParams() : body instanceof FormData && new FormData()
  // The FormData of React Native has no iterator, and its URLSearchParams cannot be made from others.
  if (!copy || !(Symbol.iterator in Object(body))) return undefined
  for (const [name, value] of body as Iterable<[string, string]>) copy.append(name, value)
  return copy
}

const maxReplayBytes = 1_048_576

/**
 * Sends a clone, and reads the Request itself at once, so that it counts as used. It can be sent again if its body has ended when the 401
 * comes, and is at most 1 MiB.
 */
function requestCall(kept: Request, request: Request): Call {
  const { signal } = kept
  const { headers, body, referrer, referrerPolicy } = request
  // Node forgets the signal of a clone, and settings beside a Request reset its referrer.
  const settings = { signal, referrer, referrerPolicy }
  const first: FetchArguments = [request, settings]
  const reader = kept.body?.getReader()
  const bytes = reader && readAtMost(reader, maxReplayBytes).catch(() => undefined)
  const again = async (): Promise<FetchArguments | undefined> => {
    // Not awaited to its end, because a 401 can come while the caller still writes the body.
    const copy = bytes && (await Promise.race([bytes, sleep(0)]))
    if (kept.bodyUsed && !copy) return undefined
    return [new Request(kept, { ...settings, headers, ...(copy && { body: new Blob(copy) }) })]
  }
  const release = (reason?: unknown): void => void reader?.cancel(reason).catch(() => {})
  return { first, headers, signal, body, again, release }
}

/** Returns a token, after a 401 another than the rejected one. If there is none, it cancels the body, so that its source is closed. */
async function tokenFor(
  { signal, body, release }: Call,
  source: AccessTokenSource,
  rejected?: string,
): Promise<string> {
  try {
    if (signal?.aborted) throw abortedError()
    return checkToken(await source.getAccessToken({ rejected, signal }))
  } catch (error) {
    // If the token cannot be refreshed, the API's 401 tells the caller more than an error would.
    if (rejected && !signal?.aborted && isAgentAuthError(error) && error.code === 'login_required') return rejected
    // A caller that aborts a `fetch` expects its own reason back.
    const reason: unknown = signal?.aborted ? (signal.reason ?? error) : error
    if (body instanceof ReadableStream) body.cancel(reason).catch(() => {})
    release?.(reason)
    throw reason
  }
}

/** Throws before the platform does, because its error quotes the header. */
function checkToken(token: unknown): string {
  return isTokenText(token) ? token : invalid('the access token must be printable ASCII')
}
