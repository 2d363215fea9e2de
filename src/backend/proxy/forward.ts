import type { AccessTokenSource } from '../../session.ts'
import type { BackendContext } from '../context.ts'
import { causeOf } from '../error-cause.ts'
import { withPrivateHeaders } from '../responses.ts'
import { apiFetch } from '../sessions/api-fetch.ts'
import type { LiveSession } from '../sessions/live-sessions.ts'
import { usedSource } from '../sessions/session-uses.ts'
import type { ProxyRoute } from './allowed-routes.ts'
import {
  type Forwarded,
  failedResponse,
  lateResponse,
  leftResponse,
  requirePassable,
  unusableBodyResponse,
} from './error-responses.ts'
import { type HeaderList, responseHeaders } from './headers.ts'
import {
  type AwaitedPart,
  type BodyProblem,
  drainBody,
  type ForwardedBody,
  requestBody,
  UnusableBodyError,
} from './request-body.ts'
import { type OnResponseEnd, relayBody } from './response-body.ts'
import { sessionCheck } from './session-check.ts'

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
 * that can be passed on, the browser gets an error response. The bearer fetch retries a 401 once if the body can be sent twice
 * (bearer.ts). If it stays a 401, the browser gets that.
 */
export async function forward(context: BackendContext, call: ProxyCall): Promise<Forwarded> {
  const { request, route } = call
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  request.signal.addEventListener('abort', abort)
  if (request.signal.aborted) abort()
  const awaited = new Set<AwaitedPart>(['body'])
  let late: Forwarded | undefined
  // The time ends when the response begins. From then on `relayBody` limits each silence.
  const timer = setTimeout(() => {
    late = lateResponse(context, route, awaited)
    abort()
  }, route.timeoutMs)
  // Set by a streamed body, because `fetch` rejects with an error of its own when the stream fails.
  let problem: BodyProblem | undefined
  let response: Response | undefined
  const end = (how: 'complete' | 'broken'): void => {
    request.signal.removeEventListener('abort', abort)
    if (how === 'broken') abort()
    call.release()
  }
  try {
    const body = await requestBody(request, {
      signal: stop.signal,
      maxBytes: route.maxBodyBytes,
      awaited,
      onProblem: (found) => {
        problem = found
      },
    })
    awaited.delete('body')
    const source = tokenSource(context, call, awaited)
    response = await send(context, call, { source, body, signal: stop.signal })
    // An injected `fetch` that calls an API in this process may respond although the body broke off. That response would hide why.
    if (problem) throw new UnusableBodyError(problem)
    requirePassable(response)
    return passOn(context, { response, call }, (how, interruption) => {
      // There is no interruption if the response ended, or if the browser read nothing for too long. A browser that left has aborted the
      // request to the API, which is no failure of the API.
      if (interruption !== undefined && !request.signal.aborted)
        context.emit({ type: 'proxy_interrupted', route: route.template, cause: causeOf(interruption) })
      end(how)
    })
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

/** Returns the session as a source of tokens that notes in `awaited` while a token is waited for. */
function tokenSource({ uses }: BackendContext, { live }: ProxyCall, awaited: Set<AwaitedPart>): AccessTokenSource {
  const source = usedSource(live.session, uses, live.key)
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
  if (!body) return send(url, init)
  // The types of fetch do not have this member yet, which a streamed body needs.
  const duplex = { duplex: 'half' } as const
  // A Request, because a stream in the settings is not sent again after a 401.
  return send(new Request(url, { ...init, ...duplex, body }))
}

/** Returns the response of the API as the browser may see it. */
function passOn(
  context: BackendContext,
  { response, call }: { readonly response: Response; readonly call: ProxyCall },
  onEnd: OnResponseEnd,
): Forwarded {
  const { status, body } = response
  const headers = responseHeaders(response.headers, context.passedHeaders)
  if (!body) onEnd('complete')
  const hasSessionEnded = sessionCheck(call.live, context)
  const options = { maxApiSilenceMs: call.route.timeoutMs, hasSessionEnded, onEnd }
  return { response: withPrivateHeaders(new Response(body && relayBody(body, options), { status, headers })) }
}
