import { present } from '../../internal/values.ts'
import type { BackendContext } from '../context.ts'
import { readSessionCookie } from '../cookies.ts'
import { crossSite, passesCsrfChecks } from '../csrf.ts'
import type { ProxiedEvent, ProxyRefusal } from '../events.ts'
import { type ProxyMatch, queryOf } from '../proxy/allowed-routes.ts'
import { drainBody } from '../proxy/bodies.ts'
import type { Forwarded } from '../proxy/failures.ts'
import { forward, type ProxyCall } from '../proxy/forward.ts'
import { type ErrorBody, errorResponse } from '../responses.ts'

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
  if (path === undefined) return refuse('path', 400, invalidPath)
  const query = queryOf(route, new URL(request.url).search)
  if (query === undefined) return refuse('query', 400, unlistedQuery)
  const { key } = await readSessionCookie(context, request)
  if (key === undefined) {
    const message = `No user is signed in. Start a login at ${context.basePath}/login.`
    return refuse('signed_out', 401, { code: 'login_required', message })
  }
  const [live, release] = context.live.acquire(key)
  if (live.users <= context.maxParallelCalls) return { route, request, live, target: path + query, release }
  release()
  const message = `${context.maxParallelCalls} requests of this session are in progress. Try again.`
  return refuse('busy', 429, { code: 'temporarily_unavailable', message, retryable: true })
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
