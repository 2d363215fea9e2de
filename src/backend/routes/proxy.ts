import { maxProxiedHeaderBytes, proxyQueueLimits } from '../../internal/limits.ts'
import { present } from '../../internal/plain-object.ts'
import type { BackendContext } from '../context.ts'
import { readSessionCookie } from '../cookies/session-cookie.ts'
import { crossSite, passesCsrfChecks } from '../csrf.ts'
import type { ProxiedEvent, ProxyRefusal } from '../events.ts'
import { once } from '../once.ts'
import { type ProxyMatch, queryOf } from '../proxy/allowed-routes.ts'
import { forward, type ProxyCall } from '../proxy/forward.ts'
import { requestHeaders } from '../proxy/headers.ts'
import { drainBody } from '../proxy/request-body.ts'
import { type RequestQueue, requestQueue } from '../proxy/request-queue.ts'
import { type ErrorBody, errorResponse } from '../responses.ts'
import type { LiveSession } from '../sessions/live-sessions.ts'

/**
 * Forwards one listed request to the API with the user's token, and returns the response of the API. In proxy/, allowed-routes.ts says
 * which methods, paths and query parameters pass, headers.ts which headers in both directions, request-body.ts which bodies.
 * forward.ts sends the request, and response-body.ts breaks the response off if the session ends in the middle of it.
 */
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
 * Checks everything that is known before the body is read, in this order: CSRF (403), path and query (400), headers (431) and
 * cookie (401). Then it waits for the turn of the request (429, 503). `forward` finds out whether the session still gives a token.
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
  const turn = await turnOf(context, live, { route: route.template, signal: request.signal })
  if (turn === 'full' || turn === 'late') {
    releaseSession()
    return turn === 'full' ? fullQueue : lateTurn
  }
  // `left` goes on to `forward`, whose signal has fired, so that nothing is sent and the event has 499.
  const release = once(() => {
    if (turn !== 'left') turn()
    releaseSession()
  })
  return { route, request, headers, live, target: path + query, release }
}

/** Waits for the turn of a request, and reports the wait if there is one. */
async function turnOf(
  { config: { clock }, emit }: BackendContext,
  live: LiveSession,
  { route, signal }: { route: string; signal: AbortSignal },
): ReturnType<RequestQueue['begin']> {
  let startedMs: number | undefined
  live.queue ??= requestQueue()
  const turn = await live.queue.begin(signal, () => {
    startedMs = clock.monotonicMs()
    emit({ type: 'proxy_wait_started', route })
  })
  if (startedMs === undefined) return turn
  const result = turn === 'late' || turn === 'left' ? turn : 'begun'
  emit({ type: 'proxy_wait_ended', route, result, durationMs: clock.monotonicMs() - startedMs })
  return turn
}

// `origin_forbidden` also stands for a URL to which the token must not go (docs/errors.md).
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
  message: `The request headers are larger than ${maxProxiedHeaderBytes / 1_024} KiB. Send fewer or shorter headers.`,
}

const { maxAtOnce, maxWaiting, maxWaitMs } = proxyQueueLimits

const fullQueue = busy(429, `${maxAtOnce + maxWaiting} requests of this session are in progress or wait. Try again.`)

const lateTurn = busy(
  503,
  `${maxAtOnce} requests of this session are in progress, and this one waited ${maxWaitMs / 1_000} s. Try again.`,
)

function busy(status: number, message: string): Refusal {
  return { status, reason: 'busy', error: { code: 'temporarily_unavailable', message, retryable: true } }
}
