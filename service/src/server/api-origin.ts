import type { Context, Handler, Next } from 'hono'
import { Hono } from 'hono'
import { authenticate, checkPermission } from '../api/check-bearer.ts'
import type { Endpoint } from '../api/endpoints.ts'
import { endpoints } from '../api/endpoints.ts'
import { ApiError, failed, ValidationError } from '../api/envelope.ts'
import type { TenantGate } from '../api/tenant-gate.ts'
import { createTenantGate } from '../api/tenant-gate.ts'
import { readBody } from '../api/validation.ts'
import { inMebibytes } from '../byte-count.ts'
import type { ServiceContext } from '../context.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { jsonResponse, jsonTextResponse } from '../http/json-response.ts'
import { cors, isKnownOrigin } from '../http/middleware/cors.ts'
import { hostGuard, ownOrigins } from '../http/middleware/host-guard.ts'
import { injectFaults } from '../http/middleware/inject-faults.ts'
import { journalRequests } from '../http/middleware/journal-requests.ts'
import { responseHeaders } from '../http/middleware/response-headers.ts'
import { unexpected } from '../http/unexpected-error.ts'
import { limits } from '../limits.ts'
import { serveOpenApi } from '../openapi/routes.ts'
import { serveHealth } from './operations.ts'

/**
 * Creates the API host, {base_url}. A request passes the checks in the order of the calls below. CORS comes before the check of the host,
 * so that a page can read each refusal.
 */
export function createApiApp(service: ServiceContext): Hono<HttpEnvironment> {
  const app = new Hono<HttpEnvironment>()
  const gate = createTenantGate()
  app.use(responseHeaders(service, service.config.baseUrl))
  serveHealth(app, service)
  app.use(journalRequests('base'))
  app.use(cors('GET, POST'))
  app.use(hostGuard({ origin: service.config.baseUrl, names: service.config.allowedHosts }, refuseHost))
  app.use(injectFaults('base'))
  app.use(refuseForeignOrigin)
  for (const endpoint of endpoints) {
    app.all(endpoint.path, serve(service, endpoint, gate))
  }
  serveOpenApi(app, service.config)
  app.all('*', noEndpoint)
  app.onError((error, c) => fail(c, error))
  return app
}

/**
 * Checks one call in this order: token (401), approval of the client and `api.access` (403), method (405), permission and billing (403).
 * Then it reads the body (415, 413), waits for a place of the tenant (429), and runs the endpoint (404, 409, 422).
 */
function serve(service: ServiceContext, endpoint: Endpoint, gate: TenantGate): Handler<HttpEnvironment> {
  return async (c) => {
    const bearer = await authenticate(c)
    if (c.req.raw.method !== endpoint.method) throw notAllowed(endpoint.method)
    const billing = service.endpointBilling.of(endpoint.operation.id) ?? endpoint.billing
    checkPermission(bearer, { ...endpoint, billing })
    const bytes = endpoint.method === 'POST' ? await readBody(c.req.raw) : new Uint8Array()
    const tenant = service.store.forTenant(bearer.tenantId)
    const leave = await gate.enter(tenant.tenantId)
    try {
      const call = { tenant, bytes, param: (name: string) => c.req.param(name), nowMs: service.clock.nowMs() }
      const response = jsonTextResponse(c, checkedText(await endpoint.respond(call)))
      leaveOnceSent(c, leave)
      return response
    } catch (error) {
      leave()
      throw error
    }
  }
}

/** A response that its client has not received is in memory, so until then its call is in progress. */
function leaveOnceSent({ env: { outgoing } }: Context<HttpEnvironment>, leave: () => void): void {
  if (outgoing === undefined || outgoing.destroyed) leave()
  else outgoing.once('close', leave)
}

/**
 * Authenticates first: a caller that may not use the API does not learn which endpoints exist. A path of the authorization server says so
 * instead, because the two addresses are easily mixed up.
 */
async function noEndpoint(c: Context<HttpEnvironment>): Promise<never> {
  const { authUrl, dev } = c.get('service').config
  const isElsewhere = /^\/(?:auth|_dev)(?:\/|$)/.test(c.req.path)
  if (!isElsewhere) await authenticate(c)
  const here = `this is the API: set authUrl to the authorization server${dev === 'on' ? `, ${authUrl}` : ''}`
  throw new ApiError({ status: 404, type: 'not_found', message: isElsewhere ? here : 'no such endpoint' })
}

function refuseHost(c: Context<HttpEnvironment>, problem: string): Response {
  return refuse(c, new ApiError({ status: 421, type: 'misdirected_request', message: problem }))
}

/** Returns the text of a response. Only a page of rows can exceed the limit, and the client can ask for fewer. */
function checkedText(body: object): string {
  const text = JSON.stringify(body)
  if (Buffer.byteLength(text) <= limits.responseBytes) return text
  const msg = `the response is over ${inMebibytes(limits.responseBytes)}; ask for fewer rows`
  throw new ValidationError([{ loc: ['body', 'limit'], msg, type: 'less_than_equal' }])
}

/** Refuses what a page sends from an origin that no client has registered (CSRF protection, S-083, A-60). */
async function refuseForeignOrigin(c: Context<HttpEnvironment>, next: Next): Promise<void> {
  const origin = c.req.header('origin')
  const isRead = ['GET', 'HEAD', 'OPTIONS'].includes(c.req.raw.method)
  const isOwn = origin === undefined || ownOrigins(c.get('service').config.baseUrl).has(origin)
  if (isRead || isOwn || (await isKnownOrigin(c, origin))) return next()
  throw new ApiError({ status: 403, type: 'permission_error', message: 'no client has a redirect URI of this origin' })
}

function fail(c: Context<HttpEnvironment>, error: Error): Response {
  if (error instanceof ApiError) return refuse(c, error)
  if (error instanceof ValidationError) {
    c.set('refusal', 'validation_error')
    return jsonResponse(c, { detail: error.detail }, 422)
  }
  const found = unexpected(error)
  for (const [name, value] of Object.entries(found.headers)) c.header(name, value)
  if (found.kind === 'broken-off') return new Response(null, { status: found.status })
  c.set('refusal', found.kind === 'unavailable' ? 'service_unavailable' : 'server_error')
  if (found.kind === 'unexpected') {
    c.get('service').telemetry.failure({ id: found.id, requestId: c.get('requestId'), error })
    return jsonResponse(c, failed('server_error', `unexpected error ${found.id}`), 500)
  }
  return jsonResponse(c, failed('service_unavailable', 'the database is not available'), 503)
}

function refuse(c: Context<HttpEnvironment>, { status, type, message, headers }: ApiError): Response {
  const clientId = c.get('clientId')
  const who = { ...c.get('caller'), ...(clientId === undefined ? {} : { clientId }) }
  c.set('refusal', type)
  if (status === 403) c.get('service').journal.event('access_forbidden', who)
  for (const [name, value] of Object.entries(headers)) c.header(name, value)
  return jsonResponse(c, failed(type, message), status)
}

function notAllowed(method: string): ApiError {
  const headers = { Allow: `${method}, OPTIONS` }
  return new ApiError({ status: 405, type: 'method_not_allowed', message: 'method not allowed', headers })
}
