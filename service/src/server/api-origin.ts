import type { Context, Handler, Next } from 'hono'
import { Hono } from 'hono'
import { ApiError, ValidationError } from '../api/api-error.ts'
import { checkAccess, checkPermission } from '../api/check-access.ts'
import { authenticate } from '../api/check-bearer-token.ts'
import type { Endpoint } from '../api/endpoints.ts'
import { endpoints } from '../api/endpoints.ts'
import { failed } from '../api/envelope.ts'
import { createTenantTurns } from '../api/tenant-turns.ts'
import { inMebibytes } from '../byte-count.ts'
import type { ServiceContext } from '../context.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { jsonResponse, jsonTextResponse } from '../http/json-response.ts'
import { cors, isKnownOrigin } from '../http/middleware/cors.ts'
import { hostGuard, ownOrigins } from '../http/middleware/host-guard.ts'
import { injectFaults } from '../http/middleware/inject-faults.ts'
import { journalRequests } from '../http/middleware/journal-requests.ts'
import { noSniff } from '../http/middleware/no-sniff.ts'
import { requestId } from '../http/middleware/request-id.ts'
import { strictTransport } from '../http/middleware/strict-transport.ts'
import { unexpected } from '../http/unexpected-error.ts'
import { limits } from '../limits.ts'
import { serveOpenApi } from '../openapi/routes.ts'
import { authPathAtApi } from './mixed-up-addresses.ts'
import { serveHealth } from './operations.ts'

/**
 * Creates the API host, {base_url}. A request passes the checks in the order of the calls below. CORS comes before the check of the host,
 * so that a page can read each refusal. Success is 200. Areas whose endpoints are not shown are 404.
 */
export function createApiApp(service: ServiceContext): Hono<HttpEnvironment> {
  const app = new Hono<HttpEnvironment>()
  const turns = createTenantTurns()
  service.telemetry.metrics?.gauge({
    name: 'agent_service_tenant_calls',
    help: 'Calls of the API that run or wait for the turn of their tenant, since its first request.',
    label: 'state',
    read() {
      const { running, waiting } = turns.load()
      return { running, waiting }
    },
  })
  app.use(async (c, next) => {
    c.set('service', service)
    c.set('turns', turns)
    return next()
  })
  app.use(requestId(service.config.trustedProxies))
  app.use(noSniff())
  app.use(strictTransport(service.config.baseUrl))
  serveHealth(app, service)
  app.use(journalRequests('base'))
  app.use(cors('GET, POST'))
  app.use(hostGuard({ origin: service.config.baseUrl, names: service.config.allowedHosts }, refuseHost))
  app.use(injectFaults('base'))
  app.use(refuseForeignOrigin)
  for (const endpoint of endpoints) {
    app.all(endpoint.path, serve(service, endpoint))
  }
  serveOpenApi(app, service.config)
  app.all('*', noEndpoint)
  app.onError((error, c) => fail(c, error))
  return app
}

/**
 * Checks one call before the endpoint reads the request (S-063), after `refuseForeignOrigin` (403), in this order: token (401,
 * api/check-bearer-token.ts), approval of the client and `api.access` (403, api/check-access.ts), method (405), permission and billing
 * (403). api/endpoints.ts names the permission and billing of each endpoint. The endpoint then refuses a wrong body (415, 413, 422,
 * api/validation.ts).
 */
function serve(service: ServiceContext, endpoint: Endpoint): Handler<HttpEnvironment> {
  return async (c) => {
    const bearer = await authenticate(c)
    checkAccess(bearer)
    if (c.req.raw.method !== endpoint.method) throw notAllowed(endpoint.method)
    const billing = service.endpointBilling.of(endpoint.operation.id) ?? endpoint.billing
    checkPermission(bearer, { ...endpoint, billing })
    const text = JSON.stringify(await endpoint.respond(c, service.store.forTenant(bearer.tenantId)))
    holdUntilSent(c, bearer.tenantId, checkedBytes(text))
    return jsonTextResponse(c, text)
  }
}

/** Authenticates first: a caller that may not use the API does not learn which endpoints exist. */
async function noEndpoint(c: Context<HttpEnvironment>): Promise<never> {
  const message = authPathAtApi(c.req.path, c.get('service').config)
  if (message !== undefined) throw new ApiError({ status: 404, type: 'not_found', message })
  checkAccess(await authenticate(c))
  throw new ApiError({ status: 404, type: 'not_found', message: 'no such endpoint' })
}

function refuseHost(c: Context<HttpEnvironment>, problem: string): Response {
  return refuse(c, new ApiError({ status: 421, type: 'misdirected_request', message: problem }))
}

/**
 * Returns the size of a response. Only a page of rows can exceed the limit (`responseBytes`, 8 MiB), and the client can ask for
 * fewer.
 */
function checkedBytes(text: string): number {
  const bytes = Buffer.byteLength(text)
  if (bytes <= limits.responseBytes) return bytes
  const msg = `the response is over ${inMebibytes(limits.responseBytes)}; ask for fewer rows`
  throw new ValidationError([{ loc: ['body', 'limit'], msg, type: 'less_than_equal' }])
}

/** Counts a response for its tenant until the client has received it, because until then it is in memory. */
function holdUntilSent(c: Context<HttpEnvironment>, tenant: string, bytes: number): void {
  const { outgoing } = c.env
  if (outgoing !== undefined && !outgoing.destroyed) outgoing.once('close', c.get('turns').holdBytes(tenant, bytes))
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
