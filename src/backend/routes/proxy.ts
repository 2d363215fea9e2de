import { AgentAuthError, isAgentAuthError } from '../../errors.ts'
import { present } from '../../internal/present.ts'
import { findSession } from '../cookies/session-cookie.ts'
import { causeOf, type ErrorCause, tokenEndpointCause, unreachedCause } from '../error-cause.ts'
import type { ProxiedEvent, ProxyRefusal } from '../events.ts'
import { isGuarded } from '../fetch-metadata.ts'
import type { BackendContext } from '../options.ts'
import { type BodyProblem, drained, type OnRelayed, relayed, requestBody, UnfitBody } from '../proxy/bodies.ts'
import { type Fields, isDecoded, requestHeaders, responseHeaders } from '../proxy/headers.ts'
import type { ProxyMatch } from '../proxy/routes.ts'
import { type Failure, failed, failedWith, guarded } from '../responses.ts'
import { apiFetch } from '../sessions/get-session.ts'
import type { LiveSession } from '../sessions/live-sessions.ts'

const deadlineMs = 30_000
const maxPerSession = 32

/** Forwards one allowed request to the API with the bearer header of whoever asks, and relays the answer. */
export async function proxy(context: BackendContext, match: ProxyMatch, request: Request): Promise<Response> {
  const { path } = match
  const refuse = async (
    status: number,
    reason: ProxyRefusal,
    failure: Failure,
    cookies?: readonly string[],
  ): Promise<Response> => {
    context.emit({ type: 'proxy_refused', route: match.route.template, status, reason })
    await drained(request)
    return failed(status, failure, cookies)
  }
  if (!isGuarded(request, context.origin))
    return refuse(403, 'cross_site', forbidden('The API needs the header x-agent-auth: 1, from this origin.'))
  if (path === undefined) return refuse(400, 'path', forbidden('The path holds something that is not a plain name.'))
  const headers = requestHeaders(request.headers, context.passedHeaders)
  if (!headers) return refuse(431, 'headers', rejected('The headers are larger than 16 KiB.'))
  const { key, removal } = await findSession(context, request)
  if (key === undefined)
    return refuse(401, 'signed_out', { code: 'login_required', message: 'Nobody is signed in.' }, removal)
  const [live, release] = context.live.acquire(key)
  live.proxied++
  const done = (): void => {
    live.proxied--
    release()
  }
  if (live.proxied > maxPerSession) {
    done()
    const message = `More than ${maxPerSession} requests of this session are under way.`
    return refuse(429, 'busy', { code: 'temporarily_unavailable', message, retryable: true })
  }
  const { clock } = context.config
  const startedMs = clock.monotonicMs()
  const target = path + new URL(request.url).search
  const call: Call = { context, route: match.route.template, request, headers, live, target, done }
  const response = await forward(call)
  const told = { route: match.route.template, status: response.status }
  if (call.refused) context.emit({ type: 'proxy_refused', ...told, reason: call.refused })
  else {
    const durationMs = clock.monotonicMs() - startedMs
    context.emit(present<ProxiedEvent>({ type: 'proxied', ...told, durationMs, cause: call.cause }))
  }
  return response
}

interface Call {
  readonly context: BackendContext
  /** As configured. */
  readonly route: string
  readonly request: Request
  readonly headers: Fields
  readonly live: LiveSession
  readonly target: string
  /** Called once, when nothing of this call is under way any more. */
  readonly done: () => void
  /** Set when it turned out that the request may not go on. */
  refused?: ProxyRefusal
  /** Set if the response is not the API's. */
  cause?: ErrorCause | undefined
}

async function forward(call: Call): Promise<Response> {
  const { context, request, headers, live, target } = call
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  request.signal.addEventListener('abort', abort)
  if (request.signal.aborted) abort()
  let problem = 'no_response' as ForwardingProblem | undefined
  const timer = setTimeout(() => {
    problem = 'deadline'
    abort()
  }, deadlineMs)
  const end = once(() => {
    request.signal.removeEventListener('abort', abort)
    call.done()
  })
  try {
    const body = await requestBody(request, stop.signal, (unfit) => {
      problem = unfit
    })
    live.fetch ??= apiFetch(context, live.session)
    // Only a request that can neither be followed nor shown in a window is sent by Node without a copy of its body.
    const init = { method: request.method, headers, signal: stop.signal, redirect: 'error', window: null } as const
    // Not yet in the types: a streamed body needs it.
    const duplex = { duplex: 'half' } as const
    const response = await live.fetch(context.config.baseUrl + target, body ? { ...init, ...duplex, body } : init)
    problem = undefined
    return relay(call, response, (how, interruption) => {
      // A browser that left has aborted the request to the API, which is no failure of the API.
      if (interruption !== undefined && !request.signal.aborted)
        context.emit({ type: 'proxy_interrupted', route: call.route, cause: causeOf(interruption) })
      if (how === 'broken') abort()
      end()
    })
  } catch (error) {
    const left = request.signal.aborted
    // The API may have responded with something that cannot be passed on.
    abort()
    end()
    if (error instanceof UnfitBody) problem = error.problem
    if (left && problem !== 'deadline') return browserLeft()
    if (problem !== 'deadline') await drained(request)
    return notForwarded(call, error, problem)
  } finally {
    clearTimeout(timer)
  }
}

function relay(call: Call, response: Response, onEnd: OnRelayed): Response {
  const { status, type, redirected, body } = response
  if (type === 'opaqueredirect' || redirected || (status >= 300 && status < 400 && status !== 304)) {
    onEnd('broken')
    return refusedResponse(call, redirectMessage)
  }
  if (body && !isDecoded(response.headers)) {
    onEnd('broken')
    return refusedResponse(
      call,
      'The API sent a content coding that was not requested. It must send none, gzip, deflate or br.',
    )
  }
  const headers = responseHeaders(response.headers, call.context.passedHeaders)
  if (!body) onEnd('done')
  return guarded(new Response(body && relayed(body, onEnd), { status, headers }))
}

type ForwardingProblem = 'deadline' | 'no_response' | BodyProblem

function notForwarded(call: Call, error: unknown, problem: ForwardingProblem | undefined): Response {
  const { config } = call.context
  if (problem === 'deadline') {
    const late = new AgentAuthError('timeout', 'The API did not respond within 30 s. Try again.', { retryable: true })
    call.cause = unreachedCause(late, config.baseUrl, 'baseUrl')
    return failed(504, late)
  }
  if (problem === 'too_large') {
    call.refused = 'body'
    return failed(413, rejected('The body is larger than 1 MiB.'))
  }
  if (problem === 'read_before') {
    call.refused = 'body_read'
    const message =
      'The body was read before the backend got the request. Put the backend before express.json() and other body parsers.'
    return failed(500, { code: 'config_invalid', message })
  }
  if (isAgentAuthError(error)) {
    // Only before sending: after a 401 the API's own answer is passed on instead.
    if (error.code === 'login_required') call.refused = 'signed_out'
    else call.cause = tokenEndpointCause(config, error)
    return failedWith(error)
  }
  if (/redirect/i.test(`${error} ${(error as Error).cause}`)) return refusedResponse(call, redirectMessage)
  call.cause = problem === 'no_response' ? unreachedCause(error, config.baseUrl, 'baseUrl') : causeOf(error)
  return failed(502, { code: 'request_failed', message: 'The API could not be reached. Try again.', retryable: true })
}

const redirectMessage =
  'The API responded with a redirect, which is not followed. Check baseUrl and the paths in proxy.'

/** Responds with 502 instead of a response that must not be passed on. */
function refusedResponse(call: Call, message: string): Response {
  const failure = rejected(message)
  call.cause = { name: 'AgentAuthError', ...failure }
  return failed(502, failure)
}

/** No browser gets this response. Its status keeps the event apart from failures of the API. */
function browserLeft(): Response {
  return failed(499, { code: 'aborted', message: 'The browser left before the API responded.' })
}

function forbidden(message: string): Failure {
  return { code: 'origin_forbidden', message }
}

function rejected(message: string): Failure {
  return { code: 'request_failed', message }
}

function once(task: () => void): () => void {
  let left = 1
  return () => {
    if (left-- > 0) task()
  }
}
