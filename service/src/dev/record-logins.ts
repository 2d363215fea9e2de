import type { Context, MiddlewareHandler } from 'hono'
import type { HttpEnvironment, LoginTrace } from '../http/hono-environment.ts'
import { hasMediaType, jsonMembers, parseForm, parseQuery, readAtMost } from '../http/messages.ts'
import { requestLimits } from '../limits.ts'
import type { Logins, NamedValue } from './login-traces.ts'

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

/** Records the requests of logins for the dev page: what was sent where, and what came back. */
export function recordLogins(logins: Logins): MiddlewareHandler<HttpEnvironment> {
  return async (c, next) => {
    if (!stepPath.test(c.req.path)) return next()
    const trace: LoginTrace = { plain: [], links: [] }
    c.set('trace', trace)
    await next()
    const fault = c.get('fault')
    // A fault may have kept the handler from reading the body.
    const fields = trace.fields ?? (fault === undefined ? () => undefined : await fieldsOf(c.req.raw))
    const parameters = parseQuery(shownQuery(c.req.raw.url))
    const sent = (name: string) => parameters.get(name)?.text ?? fields(name)
    const received = receivedValues(locationOf(c, trace), trace)
    const request = trace.fields === undefined ? present(fields('request')) : []
    const clientId = c.get('clientId')
    const personId = c.get('caller')?.personId
    logins.record({
      name: stepName(c.req.path, c.get('grantType') ?? sent('grant_type')),
      method: c.req.raw.method,
      path: c.req.path,
      status: c.res.status,
      // The other fields of a form may be a password.
      sent: [...valuesOf(shownNames, sent), ...(fields('password') === undefined ? [] : [hiddenPassword])],
      received: received.values,
      links: [...trace.links, ...request, ...linksOf(fields), ...linksOf(received.get)],
      plain: [...trace.plain, ...present(clientId), hiddenPassword[1], ...received.plain],
      ...(clientId === undefined ? {} : { clientId }),
      ...(personId === undefined ? {} : { personId }),
      ...(fault === undefined ? {} : { fault }),
    })
  }
}

type Values = (name: string) => string | undefined

/** Reads the target of a redirect. Other headers are not read, because Node's server then sends them without a copy. */
function locationOf(c: Context<HttpEnvironment>, { page, tokenResponse }: LoginTrace): string | null {
  return page === undefined && tokenResponse === undefined ? c.res.headers.get('location') : null
}

/** Returns the parameters of a URL that are shown, not decoded. Another one may be a password. */
function shownQuery(url: string): string {
  const start = url.indexOf('?')
  const pairs = start === -1 ? [] : url.slice(start + 1).split('&')
  const shown = pairs.filter((pair) => shownParameters.has(pair.split('=', 1)[0] ?? ''))
  return `?${shown.join('&')}`
}

/** Returns the values by which two requests belong to one login. */
function linksOf(values: Values): string[] {
  return [...present(values('code')), ...present(values('refresh_token'))]
}

/** Returns what the browser or the client got: the title of a page, the target of a redirect, or the members of a token response. */
function receivedValues(
  location: string | null,
  { page, tokenResponse = {} }: LoginTrace,
): { values: NamedValue[]; plain: string[]; get: Values } {
  const query = location === null ? undefined : parseQuery(location)
  const get: Values = (name) => (query ? query.get(name)?.text : present(tokenResponse[name]).at(0))
  const plain = present(get('error'))
  if (location !== null) {
    const target = location.split('?')[0] ?? ''
    const values = valuesOf(['error', 'code', 'state'], get)
    return { values: [['redirect to', target], ...values], plain: [target, ...plain], get }
  }
  if (page !== undefined) return { values: [['page', page]], plain: [page], get }
  return { values: valuesOf(shownMembers, get), plain, get }
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

function stepName(path: string, grantType: string | undefined): string {
  return stepNames[path.split('/').at(-1) ?? ''] ?? (grantType === 'refresh_token' ? 'Refresh' : 'Exchange')
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
