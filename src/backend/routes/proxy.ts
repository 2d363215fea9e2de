import { present } from '../../internal/values.ts'
import type { BackendContext } from '../context.ts'
import { readSessionCookie } from '../cookies.ts'
import { crossSite, passesCsrfChecks } from '../csrf.ts'
import type { ProxiedEvent, ProxyRefusal } from '../events.ts'
import { type ProxyMatch, queryOf } from '../proxy/allowed-routes.ts'
import { drainBody } from '../proxy/bodies.ts'
import { forward, type ProxyCall } from '../proxy/forward.ts'
import { maxHeaderBytes, requestHeaders } from '../proxy/headers.ts'
import { type ErrorBody, errorResponse } from '../responses.ts'

/** Forwards one listed request to the API with the user's token, and returns the response of the API. */
export async function proxy(context: BackendContext, match: ProxyMatch, request: Request): Promise<Response> {
  const route = match.route.template
  const { clock } = context.config
  const startedMs = clock.monotonicMs()
  const call = await admit(context, match, request)
  if ('reason' in call) {
    const { status, reason, error, cookies } = call
    context.emit({ type: 'proxy_refused', route, status, reason })
    await drainBody(request)
    return errorResponse(status, error, cookies)
  }
  const { response, refusal, cause } = await forward(context, call)
  const { status } = response
  if (refusal) context.emit({ type: 'proxy_refused', route, status, reason: refusal })
  else {
    const durationMs = clock.monotonicMs() - startedMs
    context.emit(present<ProxiedEvent>({ type: 'proxied', route, status, durationMs, cause }))
  }
  return response
}

interface Refusal {
  readonly status: number
  readonly reason: ProxyRefusal
  readonly error: ErrorBody
  readonly cookies?: readonly string[]
}

/**
 * Checks everything that is known before the storage and the body are read, in this order: CSRF (403), path and query (400), headers
 * (431), cookie (401) and the number of requests in progress (429).
 */
async function admit(context: BackendContext, match: ProxyMatch, request: Request): Promise<ProxyCall | Refusal> {
  const { route, path } = match
  if (!passesCsrfChecks(request, context.origin)) return { status: 403, reason: 'cross_site', error: crossSite }
  if (path === undefined) return { status: 400, reason: 'path', error: invalidPath }
  const query = queryOf(route, new URL(request.url).search)
  if (query === undefined) return { status: 400, reason: 'query', error: unlistedQuery }
  const headers = requestHeaders(request.headers, context.passedHeaders)
  if (!headers) return { status: 431, reason: 'headers', error: largeHeaders }
  const { key, removal } = await readSessionCookie(context, request)
  if (key === undefined) {
    const message = `No user is signed in. Start a login at ${context.basePath}/login.`
    return { status: 401, reason: 'signed_out', error: { code: 'login_required', message }, cookies: removal }
  }
  const [live, releaseSession] = context.live.acquire(key)
  if (live.calls >= context.maxParallelCalls) {
    releaseSession()
    const message = `${live.calls} requests of this session are in progress. Try again.`
    return { status: 429, reason: 'busy', error: { code: 'temporarily_unavailable', message, retryable: true } }
  }
  live.calls++
  let state: 'in progress' | 'ended' = 'in progress'
  const release = (): void => {
    if (state === 'ended') return
    state = 'ended'
    live.calls--
    releaseSession()
  }
  return { route, request, headers, live, target: path + query, release }
}

// `origin_forbidden` also stands for a URL to which the token must not go.
const invalidPath: ErrorBody = {
  code: 'origin_forbidden',
  message:
    'A path parameter is invalid. It must be one segment without / \\ ; % ? # or control characters, and not only dots.',
}

const unlistedQuery: ErrorBody = {
  code: 'origin_forbidden',
  message: 'A query parameter is not allowed for this route. Remove it, or list its name in query of the route.',
}

const largeHeaders: ErrorBody = {
  code: 'request_failed',
  message: `The request headers are larger than ${maxHeaderBytes / 1_024} KiB. Send fewer or shorter headers.`,
}
