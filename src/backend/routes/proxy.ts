import { abortable } from '../../internal/timeouts.ts'
import { attempt, present } from '../../internal/values.ts'
import { loginRequired } from '../../session/errors.ts'
import type { AccessTokenSource } from '../../session.ts'
import type { BackendContext } from '../context.ts'
import { readSessionCookie } from '../cookies.ts'
import { crossSite, passesCsrfChecks } from '../csrf.ts'
import { causeOf } from '../error-cause.ts'
import type { ProxiedEvent, ProxyRefusal } from '../events.ts'
import { type ProxyMatch, type ProxyRoute, queryOf } from '../proxy/allowed-routes.ts'
import { type BodyOptions, drainBody, type Progress, relayBody, requestBody } from '../proxy/bodies.ts'
import { type Forwarded, failedResponse, lateResponse, leftResponse, unusableBodyResponse } from '../proxy/failures.ts'
import { requestHeaders, requirePassable, responseHeaders } from '../proxy/headers.ts'
import { type ErrorBody, errorResponse, withPrivateHeaders } from '../responses.ts'
import { apiFetch, type LiveSession } from '../sessions/live-sessions.ts'

/** A response that takes no longer arrives as a whole, also if its session ends meanwhile. */
const shortResponseMs = 1_000

const invalidPath =
  'A path parameter is invalid. It must be one segment without / \\ ; % ? # or control characters, and not only dots.'
const unlistedQuery =
  'A query parameter is not allowed for this route. Remove it, or list its name in query of the route.'

/** A request that passed the checks of the proxy. */
interface ProxyCall {
  readonly route: ProxyRoute
  readonly request: Request
  readonly live: LiveSession
  /** Path and query under `baseUrl`. */
  readonly target: string
  /** Releases the session. Only the first call counts. */
  readonly release: () => void
}

/** Forwards one listed request to the API with the user's token, and returns the response of the API. */
export async function proxy(context: BackendContext, match: ProxyMatch, request: Request): Promise<Response> {
  const route = match.route.template
  const { clock } = context.config
  const startedMs = clock.monotonicMs()
  const call = await admit(context, match, request)
  const { response, refusal, cause } = 'response' in call ? call : await forward(context, call)
  const { status } = response
  if (refusal) context.emit({ type: 'proxy_refused', route, status, reason: refusal })
  else {
    const durationMs = clock.monotonicMs() - startedMs
    context.emit(present<ProxiedEvent>({ type: 'proxied', route, status, durationMs, cause }))
  }
  return response
}

/**
 * Checks everything that is known before the storage and the body are read, in this order: CSRF (403), path and query (400), cookie (401)
 * and the number of requests in progress (429).
 */
async function admit(context: BackendContext, match: ProxyMatch, request: Request): Promise<ProxyCall | Forwarded> {
  const { route, path } = match
  const refuse = async (refusal: ProxyRefusal, status: number, error: ErrorBody): Promise<Forwarded> => {
    await drainBody(request)
    return { refusal, response: errorResponse(status, error) }
  }
  if (!passesCsrfChecks(request, context.origin)) return refuse('cross_site', 403, crossSite)
  if (path === undefined) return refuse('path', 400, { code: 'origin_forbidden', message: invalidPath })
  const query = queryOf(route, new URL(request.url).search)
  if (query === undefined) return refuse('query', 400, { code: 'origin_forbidden', message: unlistedQuery })
  const { key } = await readSessionCookie(context, request)
  if (key === undefined) {
    const message = `No user is signed in. Start a login at ${context.basePath}/login.`
    return refuse('signed_out', 401, { code: 'login_required', message })
  }
  const [live, release] = context.live.acquire(key)
  if (live.users.size <= context.maxParallelCalls) return { route, request, live, target: path + query, release }
  release()
  const message = `${context.maxParallelCalls} requests of this session are in progress. Try again.`
  return refuse('busy', 429, { code: 'temporarily_unavailable', message, retryable: true })
}

/**
 * Sends a request to the API with the bearer header, and passes the response on. Never rejects: if the API gives no response
 * that can be passed on, the browser gets an error response. A 401 is retried once if the body can be sent twice. If it stays a 401, the
 * browser gets that.
 */
async function forward(context: BackendContext, call: ProxyCall): Promise<Forwarded> {
  const { request, route } = call
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  request.signal.addEventListener('abort', abort)
  if (request.signal.aborted) abort()
  const progress: Progress = { awaits: new Set(['session']) }
  let late: Forwarded | undefined
  // The time ends when the response begins. From then on each silence is limited.
  const timer = setTimeout(() => {
    late = lateResponse(context, route, progress)
    abort()
  }, route.timeoutMs)
  let response: Response | undefined
  const end = (how: 'complete' | 'broken', interruption?: unknown): void => {
    request.signal.removeEventListener('abort', abort)
    // A browser that left has aborted the request to the API, which is no failure of the API.
    if (interruption !== undefined && !request.signal.aborted)
      context.emit({ type: 'proxy_interrupted', route: route.template, cause: causeOf(interruption) })
    if (how === 'broken') abort()
    call.release()
  }
  try {
    await abortable(requireUser(call.live), stop.signal)
    progress.awaits.delete('session')
    response = await send(context, call, { signal: stop.signal, progress })
    // An injected `fetch` that calls an API in this process may respond although the body broke off. That response would hide why.
    if (progress.problem) throw new Error(progress.problem)
    requirePassable(response)
    return passOn(context, { response, call }, end)
  } catch (error) {
    const hasLeft = request.signal.aborted
    end('broken')
    // Neither of these drains the body, because the browser may be what is slow, or it has left.
    if (late) return late
    if (hasLeft) return leftResponse()
    await drainBody(request)
    return progress.problem ? unusableBodyResponse(progress.problem, route) : failedResponse(context, error, response)
  } finally {
    clearTimeout(timer)
  }
}

/** Rejects if the storage shows no session, before a byte of the body is read: everybody can invent a cookie. */
async function requireUser({ session }: LiveSession): Promise<void> {
  if (session.state.status === 'signed-in') return
  const { status } = await session.ready()
  if (status !== 'signed-in') throw loginRequired()
}

async function send(
  context: BackendContext,
  { request, route, live, target }: ProxyCall,
  { signal, progress }: Omit<BodyOptions, 'maxBytes'>,
): Promise<Response> {
  progress.awaits.add('body')
  const body = await requestBody(request, { signal, maxBytes: route.maxBodyBytes, progress })
  progress.awaits.delete('body')
  const source: AccessTokenSource = {
    async getAccessToken(options) {
      progress.awaits.add('token')
      const token = await live.source.getAccessToken(options)
      progress.awaits.delete('token')
      return token
    },
  }
  const headers = requestHeaders(request.headers, context.passedHeaders)
  const url = context.config.baseUrl + target
  // Node copies the body of a request unless `redirect` is `error` and `window` is null. Workers refuse `error`.
  const redirect = attempt(() => new Request(url, { redirect: 'error' })) ? 'error' : 'manual'
  const init = { method: request.method, headers, signal, redirect, window: null, body } as const
  const toApi = apiFetch(context, source)
  if (!(body instanceof ReadableStream)) return toApi(url, init)
  // The types of fetch do not have this member yet, which a streamed body needs.
  const duplex = { duplex: 'half' } as const
  // A Request, because a stream in the settings is not sent again after a 401.
  return toApi(new Request(url, { ...init, ...duplex }))
}

/** Returns the response of the API as the browser may see it. */
function passOn(
  context: BackendContext,
  { response, call }: { readonly response: Response; readonly call: ProxyCall },
  onEnd: (how: 'complete' | 'broken', interruption?: unknown) => void,
): Forwarded {
  const { status, body } = response
  const headers = responseHeaders(response.headers, context.passedHeaders)
  if (!body) onEnd('complete')
  const { clock } = context.config
  const begunMs = clock.monotonicMs()
  const hasSessionEnded = async (): Promise<boolean> =>
    clock.monotonicMs() - begunMs > shortResponseMs && (await hasEnded(context, call.live))
  const options = { maxApiSilenceMs: call.route.timeoutMs, hasSessionEnded, onEnd }
  return { response: withPrivateHeaders(new Response(body && relayBody(body, options), { status, headers })) }
}

/**
 * Returns whether the session of a response in progress has ended. The session reads its storage once a second at most. A read that finds
 * the user signed in counts as a use. If the storage cannot be read, or only the access token has expired, it returns false.
 */
async function hasEnded({ uses }: BackendContext, { name, session }: LiveSession): Promise<boolean> {
  const { reason: ended } = session.state
  // No more reads: one that shows the record again would remove it, because it ended here.
  if (ended) return ended !== 'expired'
  try {
    const { status, reason } = await session.ready()
    if (status === 'signed-in') await uses?.note(name)
    return status === 'signed-out' && reason !== 'expired'
  } catch {
    return false
  }
}
