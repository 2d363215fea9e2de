import type { Context, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { serverLimits } from '../../limits.ts'
import type { RequestEntry } from '../../state/journal.ts'
import type { ObservedRequest } from '../../telemetry/telemetry.ts'
import type { HttpEnvironment } from '../hono-environment.ts'

/** Writes one line per request, without query, body or credentials, to the journal and the log (S-086). */
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
 * Returns one line of printable characters, so that a path cannot add lines to a log (log injection, `journalPathCharacters`, 200;
 * S-086).
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
