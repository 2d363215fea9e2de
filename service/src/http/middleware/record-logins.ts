import type { Context, MiddlewareHandler } from 'hono'
import { requestLimits } from '../../limits.ts'
import type { Logins, NamedValue } from '../../state/login-traces.ts'
import { hasMediaType, jsonMembers, parseForm, readAtMost } from '../body.ts'
import type { HttpEnvironment, LoginTrace } from '../hono-environment.ts'
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
  'decision',
] as const
const shownParameters: ReadonlySet<string> = new Set(shownNames)
const shownMembers = ['error', 'access_token', 'token_type', 'refresh_token', 'scope'] as const

const hiddenPassword: NamedValue = ['password', 'not shown']

const stepNames: Record<string, string> = {
  authorize: 'Authorize',
  'sign-in': 'Sign in',
  'sign-in-as': 'Sign in as',
  'sign-out': 'Sign out',
  consent: 'Consent',
}

/**
 * Records the requests of logins for the dev page: what was sent where, and what came back. The dev page reads the values when it
 * shows a login, because it shows few of them.
 */
export function recordLogins(logins: Logins): MiddlewareHandler<HttpEnvironment> {
  return async (c, next) => {
    if (!stepPath.test(c.req.path)) return next()
    const trace: LoginTrace = { plain: [], links: [] }
    c.set('trace', trace)
    await next()
    const { plain, links } = trace
    const { method } = c.req.raw
    const query = shownQuery(c.req.raw.url)
    const fault = c.get('fault')
    // A fault may have kept the handler from reading the body.
    const fields = trace.fields ?? (fault === undefined ? () => undefined : await fieldsOf(c.req.raw))
    if (trace.fields === undefined) links.push(...present(fields('request')))
    // The login is kept, and the other fields of a form may be a password.
    const sent: SentFields = {
      shown: new Map<string, string>(valuesOf(shownNames, fields)),
      password: fields('password') === undefined ? 'none' : 'sent',
    }
    const clientId = c.get('clientId')
    const personId = c.get('caller')?.personId
    const location = locationOf(c, trace)
    const grantType = c.get('grantType')
    const received = { location, page: trace.page, tokenResponse: trace.tokenResponse ?? {} }
    logins.record({
      name: stepName(c.req.path, () => grantType ?? sentValues(query, sent)('grant_type')),
      method,
      path: c.req.path,
      status: c.res.status,
      values: () => ({ sent: sentBy(query, sent), ...receivedBy(received) }),
      links: [...links, ...linksOf(fields), ...linksOf(answered(received))],
      plain: [...plain, ...present(clientId), hiddenPassword[1]],
      ...(clientId === undefined ? {} : { clientId }),
      ...(personId === undefined ? {} : { personId }),
      ...(fault === undefined ? {} : { fault }),
    })
  }
}

type Values = (name: string) => string | undefined

/** What is kept of a form or of a JSON object. */
interface SentFields {
  shown: ReadonlyMap<string, string>
  password: 'sent' | 'none'
}

interface Received {
  /** The target of a redirect. */
  location: string | null
  /** The title of a page. */
  page: string | undefined
  tokenResponse: Readonly<Record<string, unknown>>
}

/** Reads the target of a redirect. Other headers are not read, because Node's server then sends them without a copy. */
function locationOf(c: Context<HttpEnvironment>, { page, tokenResponse }: LoginTrace): string | null {
  return page === undefined && tokenResponse === undefined ? c.res.headers.get('location') : null
}

/** Returns the parameters of a URL that are shown, not decoded. Another one may be a password. */
export function shownQuery(url: string): string {
  const start = url.indexOf('?')
  const pairs = start === -1 ? [] : url.slice(start + 1).split('&')
  const shown = pairs.filter((pair) => shownParameters.has(pair.split('=', 1)[0] ?? ''))
  return `?${shown.join('&')}`
}

function sentValues(query: string, { shown }: SentFields): Values {
  const parameters = parseQuery(query)
  return (name) => parameters.get(name)?.text ?? shown.get(name)
}

function sentBy(query: string, sent: SentFields): NamedValue[] {
  return [...valuesOf(shownNames, sentValues(query, sent)), ...(sent.password === 'sent' ? [hiddenPassword] : [])]
}

/** Returns the parameters of a redirect, or the members of a token response. */
function answered({ location, tokenResponse }: Received): Values {
  if (location === null) return (name) => present(tokenResponse[name]).at(0)
  const query = parseQuery(location)
  return (name) => query.get(name)?.text
}

/** Returns the values by which two requests belong to one login. */
function linksOf(values: Values): string[] {
  return [...present(values('code')), ...present(values('refresh_token'))]
}

/** Returns what the browser or the client got: the title of a page, the target of a redirect, or the members of a token response. */
function receivedBy(received: Received): { received: NamedValue[]; plain: string[] } {
  const { location, page } = received
  const get = answered(received)
  const plain = present(get('error'))
  if (location !== null) {
    const target = location.split('?')[0] ?? ''
    const values = valuesOf(['error', 'code', 'state'], get)
    return { received: [['redirect to', target], ...values], plain: [target, ...plain] }
  }
  if (page !== undefined) return { received: [['page', page]], plain: [page] }
  return { received: valuesOf(shownMembers, get), plain }
}

/** Reads the fields of a form or the members of a JSON object. Returns undefined for each if the body is neither. */
async function fieldsOf(request: Request): Promise<(name: string) => string | undefined> {
  const body = await readAtMost(request, requestLimits.longFormBytes).catch(() => undefined)
  const text = body?.kind === 'text' ? body.text : ''
  if (!hasMediaType(request.headers, 'application/json')) {
    const form = parseForm(text)
    return form.kind === 'fields' ? form.get : () => undefined
  }
  const members = jsonMembers(text)
  return (name) => present(members?.get(name)).at(0)
}

function stepName(path: string, grantType: () => string | undefined): string {
  return stepNames[path.split('/').at(-1) ?? ''] ?? (grantType() === 'refresh_token' ? 'Refresh' : 'Exchange')
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
