import type { Context, Handler, Next } from 'hono'
import { Hono } from 'hono'
import { ApiError, ValidationError } from '../api/api-error.ts'
import { authenticate } from '../api/bearer.ts'
import type { Endpoint } from '../api/endpoints.ts'
import { endpoints } from '../api/endpoints.ts'
import { failed } from '../api/envelope.ts'
import { checkAccess, checkPermission } from '../api/permissions.ts'
import { createTenantTurns } from '../api/tenant-turns.ts'
import type { ServiceContext } from '../context.ts'
import { cors, isKnownOrigin } from '../http/cors.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { hostGuard, ownOrigins } from '../http/host-guard.ts'
import { injectFaults } from '../http/inject-faults.ts'
import { journalRequests } from '../http/journal-requests.ts'
import { jsonResponse, jsonTextResponse } from '../http/json-response.ts'
import { strictTransport } from '../http/strict-transport.ts'
import { unexpected } from '../http/unexpected.ts'
import { inMebibytes, limits } from '../limits.ts'
import { serveOpenApi } from '../openapi/routes.ts'

/** The API host, {base_url}. Success is 200; areas whose endpoints are not shown are 404. */
export function createApiApp(service: ServiceContext): Hono<HttpEnvironment> {
  const app = new Hono<HttpEnvironment>()
  const turns = createTenantTurns()
  app.use(async (c, next) => {
    c.set('service', service)
    c.set('turns', turns)
    return next()
  })
  app.use(journalRequests('base'))
  app.use(strictTransport(service.config.baseUrl))
  app.use(cors('GET, POST'))
  app.use(hostGuard(service.config.baseUrl, refuseHost))
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

/** Authentication, approval, method, permission, then the endpoint validates and looks up (S-063). */
function serve(service: ServiceContext, endpoint: Endpoint): Handler<HttpEnvironment> {
  return async (c) => {
    const bearer = await authenticate(c)
    checkAccess(bearer)
    if (c.req.raw.method !== endpoint.method) throw notAllowed(endpoint.method)
    const billing = service.endpointBilling.of(endpoint.operation.id) ?? endpoint.billing
    checkPermission(bearer, { ...endpoint, billing })
    const text = JSON.stringify(await endpoint.respond(c, service.store.forTenant(bearer.tenantId)))
    holdUntilSent(c, bearer.tenantId, answerBytes(text))
    return jsonTextResponse(c, text)
  }
}

/** A caller that may not use the API does not learn what it has. */
async function noEndpoint(c: Context<HttpEnvironment>): Promise<never> {
  const { authUrl, dev } = c.get('service').config
  if (dev === 'on' && /\/auth\/v1\/(authorize|token)$/.test(c.req.path)) {
    const message = `this is the API: set authUrl to the authorization server, ${authUrl}`
    throw new ApiError({ status: 404, type: 'not_found', message })
  }
  checkAccess(await authenticate(c))
  throw new ApiError({ status: 404, type: 'not_found', message: 'no such endpoint' })
}

function refuseHost(c: Context<HttpEnvironment>, problem: string): Response {
  return refuse(c, new ApiError({ status: 421, type: 'misdirected_request', message: problem }))
}

/** A page of rows can be made smaller; no other answer comes near the limit. */
function answerBytes(text: string): number {
  const bytes = Buffer.byteLength(text)
  if (bytes <= limits.answerBytes) return bytes
  const msg = `the answer is over ${inMebibytes(limits.answerBytes)}; ask for fewer rows`
  throw new ValidationError([{ loc: ['body', 'limit'], msg, type: 'less_than_equal' }])
}

/** An answer stays in memory until its client has taken it. */
function holdUntilSent(c: Context<HttpEnvironment>, tenant: string, bytes: number): void {
  const { outgoing } = c.env
  if (outgoing !== undefined && !outgoing.destroyed) outgoing.once('close', c.get('turns').holdBytes(tenant, bytes))
}

/** What a page sends from an origin that is registered nowhere is not acted on (S-083, A-60). */
async function refuseForeignOrigin(c: Context<HttpEnvironment>, next: Next): Promise<void> {
  const origin = c.req.header('origin')
  const isRead = ['GET', 'HEAD', 'OPTIONS'].includes(c.req.raw.method)
  const isOwn = origin === undefined || ownOrigins(c.get('service').config.baseUrl).has(origin)
  if (isRead || isOwn || (await isKnownOrigin(c, origin))) return next()
  throw new ApiError({ status: 403, type: 'permission_error', message: 'this origin is not registered' })
}

function fail(c: Context<HttpEnvironment>, error: Error): Response {
  if (error instanceof ApiError) return refuse(c, error)
  if (error instanceof ValidationError) return jsonResponse(c, { detail: error.detail }, 422)
  const found = unexpected(error)
  for (const [name, value] of Object.entries(found.headers)) c.header(name, value)
  if (found.kind === 'broken-off') return new Response(null, { status: found.status })
  if (found.kind === 'unexpected') return jsonResponse(c, failed('server_error', `unexpected error ${found.id}`), 500)
  return jsonResponse(c, failed('service_unavailable', 'the database is not available'), 503)
}

function refuse(c: Context<HttpEnvironment>, { status, type, message, headers }: ApiError): Response {
  const clientId = c.get('clientId')
  const who = { ...c.get('caller'), ...(clientId === undefined ? {} : { clientId }) }
  if (status === 403) c.get('service').journal.event('access_forbidden', who)
  for (const [name, value] of Object.entries(headers)) c.header(name, value)
  return jsonResponse(c, failed(type, message), status)
}

function notAllowed(method: string): ApiError {
  const headers = { Allow: `${method}, OPTIONS` }
  return new ApiError({ status: 405, type: 'method_not_allowed', message: 'method not allowed', headers })
}
