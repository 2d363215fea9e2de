import { abortable } from '../../internal/timeouts.ts'
import { loginRequired } from '../../session/errors.ts'
import type { AccessTokenSource } from '../../session.ts'
import type { BackendContext } from '../context.ts'
import { causeOf } from '../error-cause.ts'
import { withPrivateHeaders } from '../responses.ts'
import { apiFetch, type LiveSession, usedSource } from '../sessions/live-sessions.ts'
import type { ProxyRoute } from './allowed-routes.ts'
import {
  type AwaitedPart,
  type BodyProblem,
  drainBody,
  type ForwardedBody,
  relayBody,
  requestBody,
  UnusableBodyError,
} from './bodies.ts'
import { type Forwarded, failedResponse, lateResponse, leftResponse, unusableBodyResponse } from './failures.ts'
import { type HeaderList, requirePassable, responseHeaders } from './headers.ts'

/** How often the session of a response in progress is read. */
const sessionCheckMs = 1_000

/** A request that passed the checks of the proxy. */
export interface ProxyCall {
  readonly route: ProxyRoute
  readonly request: Request
  /** The headers that the API may see. */
  readonly headers: HeaderList
  readonly live: LiveSession
  /** Path and query under `baseUrl`. */
  readonly target: string
  /** Counts the request as ended, and releases its session. Only the first call counts. */
  readonly release: () => void
}

/**
 * Sends a request to the API with the bearer header, and passes the response on. Never rejects: if the API gives no response
 * that can be passed on, the browser gets an error response. A 401 is retried once if the body can be sent twice. If it stays a 401, the
 * browser gets that.
 */
export async function forward(context: BackendContext, call: ProxyCall): Promise<Forwarded> {
  const { request, route } = call
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  request.signal.addEventListener('abort', abort)
  if (request.signal.aborted) abort()
  const awaited = new Set<AwaitedPart>(['session'])
  let late: Forwarded | undefined
  // The time ends when the response begins. From then on each silence is limited.
  const timer = setTimeout(() => {
    late = lateResponse(context, route, awaited)
    abort()
  }, route.timeoutMs)
  // Set by a streamed body, because `fetch` rejects with an error of its own when the stream fails.
  let problem: BodyProblem | undefined
  const onProblem = (found: BodyProblem): void => {
    problem = found
  }
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
    awaited.delete('session')
    awaited.add('body')
    const body = await requestBody(request, { signal: stop.signal, maxBytes: route.maxBodyBytes, awaited, onProblem })
    awaited.delete('body')
    response = await send(context, call, { source: tokenSource(context, call, awaited), body, signal: stop.signal })
    // An injected `fetch` that calls an API in this process may respond although the body broke off. That response would hide why.
    if (problem) throw new UnusableBodyError(problem)
    requirePassable(response)
    return passOn(context, { response, call }, end)
  } catch (error) {
    const hasLeft = request.signal.aborted
    end('broken')
    // Neither of these drains the body, because the browser may be what is slow, or it has left.
    if (late) return late
    if (hasLeft) return leftResponse()
    await drainBody(request)
    const bodyProblem = error instanceof UnusableBodyError ? error.problem : problem
    return bodyProblem ? unusableBodyResponse(bodyProblem, route) : failedResponse(context, error, response)
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

/** Returns the session as a source of tokens that tells while a token is waited for. */
function tokenSource({ uses }: BackendContext, { live }: ProxyCall, awaited: Set<AwaitedPart>): AccessTokenSource {
  const source = usedSource(live.session, uses, live.name)
  return {
    async getAccessToken(options) {
      awaited.add('token')
      const token = await source.getAccessToken(options)
      awaited.delete('token')
      return token
    },
  }
}

interface Sent {
  readonly source: AccessTokenSource
  readonly body: ForwardedBody | undefined
  readonly signal: AbortSignal
}

function send(
  context: BackendContext,
  { request, headers, target }: ProxyCall,
  { source, body, signal }: Sent,
): Promise<Response> {
  // Node copies the body of a request unless `redirect` is `error` and `window` is null. Workers do not support `error`.
  const redirect = globalThis.navigator?.userAgent === 'Cloudflare-Workers' ? 'manual' : 'error'
  const init = { method: request.method, headers, signal, redirect, window: null } as const
  const url = context.config.baseUrl + target
  const send = apiFetch(context, source)
  if (!(body instanceof ReadableStream)) return send(url, { ...init, body: body ?? null })
  // The types of fetch do not have this member yet, which a streamed body needs.
  const duplex = { duplex: 'half' } as const
  // A Request, because a stream in the settings is not sent again after a 401.
  return send(new Request(url, { ...init, ...duplex, body }))
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
  const options = { maxApiSilenceMs: call.route.timeoutMs, hasSessionEnded: sessionCheck(call.live, context), onEnd }
  return { response: withPrivateHeaders(new Response(body && relayBody(body, options), { status, headers })) }
}

/**
 * Returns a function that tells whether the session of a response in progress has ended. It reads the session once a second at most. A
 * read that finds the user signed in counts as a use. If the storage cannot be read, or only the access token has expired, it returns false.
 */
function sessionCheck(
  { name, session }: LiveSession,
  { config: { clock }, uses }: BackendContext,
): () => Promise<boolean> | boolean {
  const hasEnded = async (): Promise<boolean> => {
    const { status, reason } = await session.ready()
    if (status === 'signed-in') await uses?.note(name)
    return status === 'signed-out' && reason !== 'expired'
  }
  let checkedAtMs = clock.monotonicMs()
  return () => {
    const nowMs = clock.monotonicMs()
    if (nowMs - checkedAtMs < sessionCheckMs) return false
    checkedAtMs = nowMs
    return hasEnded().catch(() => false)
  }
}
