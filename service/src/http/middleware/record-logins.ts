import type { Context, MiddlewareHandler } from 'hono'
import { requestLimits } from '../../limits.ts'
import { isRecord } from '../../shape.ts'
import type { Logins, ShownValue } from '../../state/logins.ts'
import { hasMediaType, parseForm, readAtMost } from '../body.ts'
import type { HttpEnvironment, LoginTrace } from '../environment.ts'
import { parseJson } from '../json.ts'
import { parseQuery } from '../query.ts'

/** The requests of a login, by path. */
const stepPath = /^\/auth\/v1\/(?:authorize|sign-in(?:-as)?|sign-out|consent|token)$/

/** The parameters, fields and members that the dev page shows, in the order in which it shows them. */
const shownNames = [
  'grant_type',
  'response_type',
  'client_id',
  'client_secret',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge_method',
  'code_challenge',
  'code',
  'code_verifier',
  'refresh_token',
  'password',
  'decision',
] as const
const shownMembers = ['error', 'access_token', 'token_type', 'refresh_token', 'scope'] as const

/** Records the requests of logins for the dev page: what was sent where, and what came back. */
export function recordLogins(logins: Logins): MiddlewareHandler<HttpEnvironment> {
  return async (c, next) => {
    if (!stepPath.test(c.req.path)) return next()
    const trace: LoginTrace = { plain: [], links: [] }
    c.set('trace', trace)
    await next()
    const { plain, links, page } = trace
    const query = parseQuery(c.req.url)
    const fault = c.get('fault')
    // A fault may have kept the handler from reading the body.
    const fields = trace.fields ?? (fault === undefined ? () => undefined : await fieldsOf(c.req.raw))
    if (trace.fields === undefined) links.push(...present(fields('request')))
    const clientId = c.get('clientId')
    const personId = c.get('caller')?.personId
    const received = await receivedFrom(c, page)
    logins.record({
      method: c.req.raw.method,
      path: c.req.path,
      status: c.res.status,
      sent: valuesOf(shownNames, (name) => query.get(name)?.text ?? fields(name)),
      received: received.values,
      links,
      plain: [...plain, ...received.plain, ...present(clientId)],
      ...(clientId === undefined ? {} : { clientId }),
      ...(personId === undefined ? {} : { personId }),
      ...(fault === undefined ? {} : { fault }),
    })
  }
}

interface Received {
  values: ShownValue[]
  plain: string[]
}

/** Returns what the browser or the client gets: the title of a page, the target of a redirect, or the members of a token response. */
async function receivedFrom(c: Context<HttpEnvironment>, page: string | undefined): Promise<Received> {
  const location = c.res.headers.get('location')
  if (location !== null) {
    const query = parseQuery(location)
    const target = location.split('?')[0] ?? ''
    const error = query.get('error')?.text
    const values = valuesOf(['error', 'code', 'state'], (name) => query.get(name)?.text)
    return { values: [['redirect to', target], ...values], plain: [target, ...present(error)] }
  }
  if (page !== undefined) return { values: [['page', page]], plain: [page] }
  const isJson = c.res.headers.get('content-type')?.startsWith('application/json') === true
  // The body of a fault is what a test wrote.
  if (!isJson || c.get('fault')?.startsWith('status ')) return { values: [], plain: [] }
  const body = (await c.res.clone().json()) as Record<string, unknown>
  const values = valuesOf(shownMembers, (name) => (typeof body[name] === 'string' ? body[name] : undefined))
  return { values, plain: typeof body.error === 'string' ? [body.error] : [] }
}

/** Reads the fields of a form or the members of a JSON object. Returns undefined for each if the body is neither. */
async function fieldsOf(request: Request): Promise<(name: string) => string | undefined> {
  const body = await readAtMost(request, requestLimits.longFormBytes).catch(() => undefined)
  const text = body?.kind === 'text' ? body.text : ''
  if (!hasMediaType(request.headers, 'application/json')) {
    const form = parseForm(text)
    return form.kind === 'fields' ? form.get : () => undefined
  }
  const json = parseJson(text, { maxDepth: requestLimits.tokenDepth, repeatedMembers: 'refuse' })
  const members = new Map(json.kind === 'value' && isRecord(json.value) ? Object.entries(json.value) : [])
  return (name) => present(members.get(name)).at(0)
}

function present(value: unknown): string[] {
  return typeof value === 'string' ? [value] : []
}

function valuesOf<Name extends string>(
  names: readonly Name[],
  get: (name: Name) => string | undefined,
): [Name, string][] {
  return names.flatMap((name) => {
    const value = get(name)
    return value === undefined ? [] : [[name, value] as [Name, string]]
  })
}
