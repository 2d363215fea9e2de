import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Context, type Handler, Hono, type Next } from 'hono'
import { jwtVerify } from 'jose'
import type { ServiceContext } from '../context.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import {
  decodeText,
  hasMediaType,
  inMebibytes,
  jsonResponse,
  jsonTextResponse,
  readBytesAtMost,
} from '../http/messages.ts'
import {
  cors,
  hostGuard,
  injectFaults,
  isKnownOrigin,
  journalRequests,
  ownOrigins,
  responseHeaders,
} from '../http/middleware.ts'
import { apiLimits, limits } from '../limits.ts'
import { serveHealth, unexpected } from '../server/operations.ts'
import { hashToken } from '../store/database.ts'
import { tenantStore } from '../store/tenant.ts'
import { type Bearer, findBearerOfAccessToken, findBearerOfSessionToken } from '../store/tokens.ts'
import { type Endpoint, endpoints } from './endpoints.ts'
import {
  ApiError,
  type Envelope,
  failed,
  forbidden,
  invalidJson,
  tooLargeText,
  unauthenticated,
  unbilled,
  ValidationError,
} from './envelope.ts'
import { serveOpenApi } from './openapi.ts'

const bearerHeader = /^bearer ([A-Za-z0-9\-._~+/]+=*)$/i

/**
 * Finds the account of the bearer token (401), whose client must be approved and which must have `api.access` (403). Two Authorization
 * headers are joined by a comma, which no token holds.
 */
async function authenticate(c: Context<HttpEnvironment>): Promise<Bearer> {
  const header = c.req.header('authorization')
  if (header === undefined) throw unauthenticated('absent')
  const token = bearerHeader.exec(header)?.[1]
  const bearer = token === undefined ? undefined : await findBearer(c.get('service'), token)
  if (bearer === undefined) throw unauthenticated('invalid')
  c.set('caller', { personId: bearer.personId, tenant: bearer.tenantId })
  if (bearer.client !== undefined) c.set('clientId', bearer.client.id)
  if (bearer.client !== undefined && bearer.client.approval !== 'approved') {
    throw forbidden('OAuth client is not approved for this API')
  }
  if (!bearer.permissions.includes('api.access')) throw forbidden('missing permission')
  return bearer
}

/** Both kinds of token are looked up by their hash, so that time does not depend on a guess. */
async function findBearer(service: ServiceContext, token: string): Promise<Bearer | undefined> {
  const { store, clock } = service
  if (token.startsWith('ast_')) return findBearerOfSessionToken(store.db, hashToken(token), clock.nowMs())
  const record = await findBearerOfAccessToken(store.db, hashToken(token), clock.nowMs())
  const claims = record === undefined ? undefined : await verifyAccessToken(service, token)
  if (record === undefined || claims === undefined || claims.tenant !== record.tenantId) return undefined
  // A permission counts if the token has it and the account has not lost it since.
  const permissions = record.permissions.filter((permission) => claims.permissions.includes(permission))
  return { ...record, permissions }
}

/** The claims that a call of the API relies on. */
interface AccessTokenClaims {
  tenant: string
  permissions: string[]
}

/** Returns the claims of an access token of this service, or undefined for any other text. */
async function verifyAccessToken(service: ServiceContext, token: string): Promise<AccessTokenClaims | undefined> {
  const { config, clock, keys } = service
  const checks = {
    issuer: config.authUrl,
    audience: config.baseUrl,
    typ: 'at+jwt',
    algorithms: ['ES256'],
    requiredClaims: ['exp', 'tenant', 'permissions'],
    currentDate: new Date(clock.nowMs()),
  }
  const verified = await jwtVerify<AccessTokenClaims>(token, keys.verifyKey, checks).catch(() => undefined)
  return verified?.payload
}

/** Checks the permission and then the billing that one endpoint needs. */
function checkPermission({ billing, permissions }: Bearer, needs: Pick<Endpoint, 'permission' | 'billing'>): void {
  if (!permissions.includes(needs.permission)) throw forbidden('missing permission')
  if (needs.billing === 'needed' && billing !== 'active') throw unbilled()
}

/** Lets some calls of one tenant be in progress at a time, so that its searches do not hold up other tenants. */
interface TenantGate {
  /** Waits for a place and returns the function that frees it. Rejects with 429 if too many calls of the tenant wait. */
  enter(tenant: string): Promise<() => void>
}

export function createTenantGate(): TenantGate {
  const calls = new Map<string, { inProgress: number; waiting: (() => void)[] }>()
  let begun = Promise.resolve()

  return {
    async enter(tenant) {
      const own = calls.get(tenant) ?? { inProgress: 0, waiting: [] }
      calls.set(tenant, own)
      if (own.waiting.length >= limits.tenantCallsWaiting) throw tooMany()
      if (own.inProgress < limits.tenantCallsAtOnce) own.inProgress += 1
      else await new Promise<void>((begin) => own.waiting.push(begin))
      // Queries of libSQL hold the event loop, so one call begins in each of its turns, and other requests come between.
      begun = begun.then(() => nextTurn())
      await begun
      return () => {
        const next = own.waiting.shift()
        if (next === undefined) own.inProgress -= 1
        else next()
        if (own.inProgress === 0) calls.delete(tenant)
      }
    },
  }
}

function tooMany(): ApiError {
  const headers = { 'Retry-After': String(apiLimits.retryAfterMs / 1_000) }
  const message = 'too many calls of this tenant at once'
  return new ApiError({ status: 429, type: 'too_many_requests', message, headers })
}

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
    const billing = service.endpointBilling.get(endpoint.operation.id) ?? endpoint.billing
    checkPermission(bearer, { ...endpoint, billing })
    const bytes = endpoint.method === 'POST' ? await readBody(c.req.raw) : undefined
    const leave = await gate.enter(bearer.tenantId)
    try {
      const data = await endpoint.respond({
        tenant: tenantStore(service.store.db, bearer.tenantId),
        body: bytes && parseJson(bytes),
        param: (name) => c.req.param(name),
        nowMs: service.clock.nowMs(),
      })
      const response = jsonTextResponse(c, checkedText({ success: true, data, error_type: null, error_message: null }))
      leaveOnceSent(c, leave)
      return response
    } catch (error) {
      leave()
      throw error
    }
  }
}

/** Reads the bytes of a JSON body. */
async function readBody(request: Request): Promise<Uint8Array> {
  if (!hasMediaType(request.headers, 'application/json')) {
    throw new ApiError({ status: 415, type: 'unsupported_media_type', message: 'the body must be application/json' })
  }
  const body = await readBytesAtMost(request, apiLimits.bodyBytes)
  if (body.kind === 'too_large') {
    throw new ApiError({ status: 413, type: 'body_too_large', message: tooLargeText })
  }
  return body.bytes
}

function parseJson(bytes: Uint8Array): unknown {
  const body = decodeText(bytes)
  if (body.kind === 'not_utf8') throw invalidJson('the body is not UTF-8')
  try {
    return JSON.parse(body.text)
  } catch {
    throw invalidJson('the body is not JSON')
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
function checkedText(body: Envelope<object>): string {
  const text = JSON.stringify(body)
  if (Buffer.byteLength(text) <= limits.responseBytes) return text
  const msg = `the response is over ${inMebibytes(limits.responseBytes)}; ask for fewer rows`
  throw new ValidationError([{ loc: ['body', 'limit'], msg, type: 'less_than_equal' }])
}

/** Refuses what a page sends from an origin that no client has registered (CSRF protection). */
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
