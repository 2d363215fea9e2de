import type { Context, MiddlewareHandler } from 'hono'
import { requestLimits } from '../../limits.ts'
import { isRecord } from '../../shape.ts'
import type { Logins, NamedValue } from '../../state/logins.ts'
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
  'decision',
] as const
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
    const { plain, links } = trace
    const query = parseQuery(c.req.url)
    const fault = c.get('fault')
    // A fault may have kept the handler from reading the body.
    const fields = trace.fields ?? (fault === undefined ? () => undefined : await fieldsOf(c.req.raw))
    if (trace.fields === undefined) links.push(...present(fields('request')))
    const clientId = c.get('clientId')
    const personId = c.get('caller')?.personId
    const received = receivedFrom(c, trace)
    const sentValue = (name: string) => query.get(name)?.text ?? fields(name)
    logins.record({
      name: stepName(c.req.path, sentValue('grant_type')),
      method: c.req.raw.method,
      path: c.req.path,
      status: c.res.status,
      sent: [...valuesOf(shownNames, sentValue), ...present(sentValue('password')).map(() => hiddenPassword)],
      received: received.values,
      links,
      plain: [...plain, ...received.plain, ...present(clientId), hiddenPassword[1]],
      ...(clientId === undefined ? {} : { clientId }),
      ...(personId === undefined ? {} : { personId }),
      ...(fault === undefined ? {} : { fault }),
    })
  }
}

interface Received {
  values: NamedValue[]
  plain: string[]
}

/** Returns what the browser or the client gets: the title of a page, the target of a redirect, or the members of a token response. */
function receivedFrom(c: Context<HttpEnvironment>, { page, tokenResponse = {} }: LoginTrace): Received {
  const location = c.res.headers.get('location')
  if (location !== null) {
    const query = parseQuery(location)
    const target = location.split('?')[0] ?? ''
    const error = query.get('error')?.text
    const values = valuesOf(['error', 'code', 'state'], (name) => query.get(name)?.text)
    return { values: [['redirect to', target], ...values], plain: [target, ...present(error)] }
  }
  if (page !== undefined) return { values: [['page', page]], plain: [page] }
  const values = valuesOf(shownMembers, (name) => present(tokenResponse[name]).at(0))
  return { values, plain: present(tokenResponse.error) }
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
