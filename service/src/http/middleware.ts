import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import type { Context, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import type { StatusCode } from 'hono/utils/http-status'
import type { ServiceContext } from '../context.ts'
import { serverLimits } from '../limits.ts'
import { loopbackHosts } from '../loopback.ts'
import type { FaultEffect, FaultTarget, RequestEntry } from '../state.ts'
import { isRegisteredOrigin } from '../store/clients.ts'
import { databaseFailureOf } from '../store/failures.ts'
import { purge } from '../store/purge.ts'
import type { ObservedRequest } from '../telemetry/telemetry.ts'
import type { HttpEnvironment } from './hono-environment.ts'

const idHeader = 'X-Request-Id'
const wellFormedId = /^[\w.-]{8,64}$/
const yearS = 365 * 24 * 60 * 60

/**
 * Gives each request its service and an id, and each response the headers that all have: the id, X-Content-Type-Options, and on https
 * Strict-Transport-Security. The id that the request has counts only if proxies are trusted, because any other client could write text of
 * its choice, such as a secret, into the log.
 */
export function responseHeaders(service: ServiceContext, origin: string): MiddlewareHandler<HttpEnvironment> {
  const { trustedProxies } = service.config
  return async (c, next) => {
    const sent = trustedProxies === 0 ? undefined : c.req.header(idHeader)
    const id = sent !== undefined && wellFormedId.test(sent) ? sent : randomUUID()
    c.set('service', service)
    c.set('requestId', id)
    c.header(idHeader, id)
    c.header('X-Content-Type-Options', 'nosniff')
    await next()
    if (origin.startsWith('https:')) c.res.headers.set('Strict-Transport-Security', `max-age=${yearS}`)
  }
}

/** Returns the values of Host that name this origin: its own and, on loopback, the other spellings. */
export function ownHosts(origin: string): Set<string> {
  const url = new URL(origin)
  const hasOtherSpellings = loopbackHosts.includes(url.hostname)
  const names = hasOtherSpellings ? loopbackHosts : [url.hostname]
  // Some proxies write the standard port.
  const ports = url.port === '' ? ['', url.protocol === 'https:' ? ':443' : ':80'] : [`:${url.port}`]
  return new Set(names.flatMap((name) => ports.map((port) => name + port)))
}

interface Served {
  origin: string
  /** Further host names, which count on every port. */
  names: readonly string[]
  /** `any` serves a Host that is an IP address, because only a name can be rebound. Default: `own`. */
  addresses?: 'own' | 'any'
}

/** Refuses each Host that is not served with 421. This is the protection from DNS rebinding. */
export function hostGuard(
  { origin, names, addresses = 'own' }: Served,
  refuse: (c: Context<HttpEnvironment>, problem: string) => Response,
): MiddlewareHandler<HttpEnvironment> {
  const hosts = ownHosts(origin)
  return async (c, next) => {
    const host = (c.req.header('host') ?? new URL(c.req.url).host).toLowerCase()
    const name = host.replace(/:\d+$/, '')
    const isAddress = addresses === 'any' && isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
    return hosts.has(host) || names.includes(name) || isAddress ? next() : refuse(c, 'this host is not served here')
  }
}

/** Returns the origins of this host, with the other spellings of loopback. */
export function ownOrigins(origin: string): Set<string> {
  return new Set([...ownHosts(origin)].map((host) => `${new URL(origin).protocol}//${host}`))
}

/**
 * Lets pages read responses, errors included, if `allowedOrigins` has their origin or a redirect URI of it is registered: of the
 * token's own client once that is known, of any client in a preflight and before. Without the headers a page sees a network
 * failure instead of a 401. It never sends `*`, which does not cover Authorization,
 * and never allows cookies.
 */
export function cors(methods: string): MiddlewareHandler<HttpEnvironment> {
  return async (c, next) => {
    if (c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined) {
      return preflight(c, methods)
    }
    c.header('Vary', 'Origin')
    await next()
    const origin = c.req.header('origin')
    if (origin === undefined || !(await mayRead(c, origin))) return
    c.res.headers.set('Access-Control-Allow-Origin', origin)
    c.res.headers.set('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After, X-Request-Id')
  }
}

async function preflight(c: Context<HttpEnvironment>, methods: string): Promise<Response> {
  const headers = new Headers({ Vary: 'Origin', 'Cache-Control': 'no-store' })
  const origin = c.req.header('origin')
  if (origin !== undefined && (await isKnownOrigin(c, origin))) {
    headers.set('Access-Control-Allow-Origin', origin)
    headers.set('Access-Control-Allow-Methods', methods)
    headers.set('Access-Control-Allow-Headers', 'authorization, content-type')
    headers.set('Access-Control-Max-Age', String(serverLimits.preflightMs / 1_000))
  }
  return c.newResponse(null, { status: 204, headers })
}

function mayRead(c: Context<HttpEnvironment>, origin: string): Promise<boolean> {
  return isAllowed(c, origin, c.get('clientId'))
}

/** Returns whether the login of some client may end at a page of this origin. */
export function isKnownOrigin(c: Context<HttpEnvironment>, origin: string): Promise<boolean> {
  return isAllowed(c, origin)
}

async function isAllowed(c: Context<HttpEnvironment>, origin: string, clientId?: string): Promise<boolean> {
  const { config, store } = c.get('service')
  return config.allowedOrigins.includes(origin) || isRegisteredOrigin(store.db, origin, clientId)
}

/** Writes one line per request, without query, body or credentials, to the journal and the log. */
export function journalRequests(origin: RequestEntry['origin']): MiddlewareHandler<HttpEnvironment> {
  return async (c, next) => {
    const startMs = performance.now()
    await next()
    // Calls of the dev controls would hide the requests that a test waits for.
    if (/^\/_dev(\/|$)/.test(c.req.path)) return
    const grantType = c.get('grantType')
    const clientId = c.get('clientId')
    const fault = c.get('fault')
    const personId = c.get('caller')?.personId
    const { journal, telemetry } = c.get('service')
    const entry: Omit<RequestEntry, 'kind' | 'atMs'> = {
      origin,
      method: c.req.raw.method,
      path: readable(pathOf(c.req.raw.url)),
      status: c.res.status,
      authorization: schemeOf(c.req.header('authorization')),
      contentType: contentTypeOf(c.req.header('content-type')),
      ...(grantType === undefined ? {} : { grantType }),
      ...(clientId === undefined ? {} : { clientId }),
      ...(personId === undefined ? {} : { personId }),
      ...(fault === undefined ? {} : { fault }),
    }
    journal.request(entry)
    telemetry.request?.({ ...entry, ...howItWent(c), durationMs: performance.now() - startMs })
  }
}

/**
 * Returns the path of a URL that the server has normalized. It does not use `URL`, which takes longer than the rest of this
 * function.
 */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  const end = url.slice(start).search(/[?#]/)
  return end === -1 ? url.slice(start) : url.slice(start, start + end)
}

/** Returns what the log says of a request in addition to the journal. */
function howItWent(c: Context<HttpEnvironment>): Pick<ObservedRequest, 'requestId' | 'route' | 'refusal'> {
  const refusal = c.get('refusal')
  // Patterns with a wildcard are those of middleware.
  const route = matchedRoutes(c).find(({ path }) => !path.includes('*'))?.path ?? 'other'
  return { requestId: c.get('requestId'), route, ...(refusal === undefined ? {} : { refusal }) }
}

/**
 * Returns one line of printable characters, so that a path cannot add lines to a log (log injection).
 */
function readable(path: string): string {
  return path.slice(0, serverLimits.journalPathCharacters).replace(/[^\x21-\x7e]/g, '?')
}

/** Returns the media type, or `other` for text that is none. */
function contentTypeOf(header: string | undefined): string | null {
  const essence = header?.split(';')[0]?.trim().toLowerCase()
  if (essence === undefined) return null
  return /^[a-z]{1,20}\/[a-z0-9.+-]{1,40}$/.test(essence) ? essence : 'other'
}

function schemeOf(header: string | undefined): RequestEntry['authorization'] {
  if (header === undefined) return 'none'
  const scheme = /^(basic|bearer)(?= |$)/i.exec(header)?.[1]?.toLowerCase()
  return scheme === 'basic' || scheme === 'bearer' ? scheme : 'other'
}

type StatusEffect = Extract<FaultEffect, { status: number }>

/** Applies the fault rules of a test. It comes after CORS, so that a page can read a faulty response. */
export function injectFaults(origin: FaultTarget['origin']): MiddlewareHandler<HttpEnvironment> {
  return async (c, next) => {
    // The controls stay reachable, or no test could clear the faults.
    if (/^\/_dev(\/|$)/.test(c.req.path)) return next()
    const effect = c.get('service').faults.take({ method: c.req.raw.method, path: c.req.path, origin })
    if (effect === undefined) return next()
    c.set('fault', nameOf(effect))
    if (typeof effect === 'string') return lose(c, effect, next)
    if ('delayMs' in effect) await setTimeout(effect.delayMs)
    return 'status' in effect ? responseOf(c, effect) : next()
  }
}

async function lose(
  c: Context<HttpEnvironment>,
  effect: Extract<FaultEffect, string>,
  next: () => Promise<void>,
): Promise<Response | undefined> {
  c.env.loss = effect === 'truncate' ? 'second-half' : 'everything'
  if (effect === 'reset') return c.body(null)
  await next()
  return undefined
}

function responseOf(c: Context<HttpEnvironment>, { status, body, headers = {} }: StatusEffect): Response {
  const bodiless = body === undefined || status === 204 || status === 205 || status === 304
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8'
  const own: Record<string, string> = { 'Cache-Control': 'no-store', ...(bodiless ? {} : { 'Content-Type': type }) }
  const all = new Headers(own)
  for (const [name, value] of Object.entries(headers)) all.set(name, value)
  return c.newResponse(bodiless ? null : text, { status: status as StatusCode, headers: all })
}

function nameOf(effect: FaultEffect): string {
  if (typeof effect === 'string') return effect
  return 'status' in effect ? `status ${effect.status}` : `delay ${effect.delayMs} ms`
}

/**
 * Purges expired data on a request, after a pause by the service's clock. A timer would keep a process
 * alive. `purge` says which rows stay longer: used codes and rotated refresh tokens, until their authorization has expired.
 */
export function purgeOnRequest({ store, clock }: ServiceContext): MiddlewareHandler<HttpEnvironment> {
  let nextMs = clock.nowMs() + serverLimits.purgePauseMs
  return async (_c, next) => {
    if (clock.nowMs() >= nextMs) {
      nextMs = clock.nowMs() + serverLimits.purgePauseMs
      // A database that cannot be written to may still be read by this request.
      const rows = await purge(store.db, clock.purgeMs()).catch(ignoreUnavailable)
      if (rows === 'more') nextMs = clock.nowMs()
    }
    return next()
  }
}

function ignoreUnavailable(error: unknown): undefined {
  if (databaseFailureOf(error) === 'other') throw error
}
