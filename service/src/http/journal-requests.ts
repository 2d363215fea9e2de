import type { MiddlewareHandler } from 'hono'
import type { RequestEntry } from '../journal.ts'
import type { HttpEnvironment } from './environment.ts'

/** Writes one line per request, without query, body or credentials (S-086). */
export function journalRequests(origin: RequestEntry['origin']): MiddlewareHandler<HttpEnvironment> {
  return async (c, next) => {
    await next()
    // The controls are not part of what a test wants to see.
    if (/^\/_dev(\/|$)/.test(c.req.path)) return
    const grantType = c.get('grantType')
    const clientId = c.get('clientId')
    const fault = c.get('fault')
    c.get('service').journal.request({
      origin,
      method: c.req.raw.method,
      path: c.req.path,
      status: c.res.status,
      authorization: schemeOf(c.req.header('authorization')),
      contentType: c.req.header('content-type')?.split(';')[0]?.trim().toLowerCase() ?? null,
      ...(grantType === undefined ? {} : { grantType }),
      ...(clientId === undefined ? {} : { clientId }),
      ...(fault === undefined ? {} : { fault }),
    })
  }
}

function schemeOf(header: string | undefined): RequestEntry['authorization'] {
  if (header === undefined) return 'none'
  const scheme = /^(basic|bearer)(?= |$)/i.exec(header)?.[1]?.toLowerCase()
  return scheme === 'basic' || scheme === 'bearer' ? scheme : 'other'
}
