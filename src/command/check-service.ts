import { generateRandomState } from 'oauth4webapi'
import { startLogin } from '../authorize.ts'
import type { AuthConfig } from '../config.ts'
import { type AgentAuthError, isAgentAuthError } from '../errors.ts'
import { maxRefusalBytes } from '../internal/limits.ts'
import { attempt, parseObject } from '../internal/values.ts'
import { remedyFor } from '../oauth-error-codes.ts'
import { readTextAtMost } from '../token-endpoint/response.ts'
import { refreshTokens } from '../token-endpoint.ts'

/** One check: what is wrong and what to do, or why it was not made, or neither. */
export interface Check {
  readonly check: string
  readonly cause?: string
  readonly fix?: string
  readonly skipped?: string
}

/** A response. undefined in its place means that there was none. */
interface Reply {
  readonly status: number
  readonly headers: Headers
  /** Whether it has the form of the API. */
  readonly isOfApi: boolean
}

/**
 * Checks what the service responds to requests that need no user. Sends them side by side, and no token. `origin` is that of a page that
 * calls the API.
 */
export async function checkService(
  config: AuthConfig,
  { origin, ports }: { origin?: string | undefined; ports?: readonly number[] | undefined },
): Promise<Check[]> {
  const searchUrl = `${config.baseUrl}/api/llm_models/search`
  const [login, token, search, preflight] = await Promise.all([
    askForLogin(config, ports),
    refusalOf(config),
    ask(config, searchUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }),
    origin === undefined ? undefined : ask(config, searchUrl, preflightFrom(origin)),
  ])
  const server = finding('authorization server', [
    [!login.reply, 'authUrl does not respond.', 'Check --auth-url, and that the service runs.'],
    [login.reply?.isOfApi, 'authUrl is the API.', 'Swap --auth-url and --base-url.'],
    [
      Number(login.reply?.status) >= 500 || !token?.status || token.status >= 500,
      'The authorization server or its token endpoint fails.',
      'Try again later. If it stays so, check --auth-url.',
    ],
  ])
  const api = finding('API', [
    [!search, 'baseUrl does not respond.', 'Check --base-url, and that the service runs.'],
    [!search?.isOfApi || search.status === 404, 'baseUrl is not the API.', 'Check --base-url.'],
  ])
  return [
    server,
    api,
    ...(server.cause === undefined && login.reply && token
      ? checkClient(login.redirectUri, login.reply, token)
      : [{ check: 'client', skipped: 'no authorization server' }]),
    ...(origin !== undefined && preflight && api.cause === undefined ? [checkCors(preflight, origin)] : []),
  ]
}

/** Checks what only an authorization server that responds can tell. */
function checkClient(redirectUri: string, login: Reply, token: AgentAuthError): Check[] {
  const isUnknown = token.details?.error === 'invalid_client' || token.status === 401
  const client = finding('client', [
    [
      isUnknown,
      'The client is unknown, or its secret is missing or wrong.',
      'Check --client-id. Pass --client-secret-file for a confidential client, and none for a public client.',
    ],
    [
      token.code !== 'grant_rejected',
      'The token endpoint does not take the form of this service.',
      'Check --auth-url. Another kind of service needs the option dialect of the library.',
    ],
  ])
  if (isUnknown) return [client, { check: 'login', skipped: 'no client' }]
  const location = attempt(() => new URL(login.headers.get('location') ?? '', redirectUri))
  const error = location?.searchParams.get('error') ?? ''
  const remedy = remedyFor(error)
  const refusal = finding('login', [
    [
      login.status >= 400,
      'The authorization server refuses the redirect URI.',
      `Register ${redirectUri} for the client, or pass the registered one with --redirect-uri and --ports.`,
    ],
    [
      error === 'invalid_scope',
      'The authorization server refuses the scope.',
      'Pass a --scope that the client is registered for.',
    ],
    // Text of another kind is not quoted.
    [
      error,
      `The authorization server refuses a login${remedy ? ` with ${error}` : ''}.`,
      remedy ?? 'Check the registration of the client.',
    ],
  ])
  return [client, refusal]
}

function checkCors({ headers }: Reply, origin: string): Check {
  const allowed = headers.get('access-control-allow-origin')
  const fix = 'Register a redirect URI of this origin, or allow the origin at the service.'
  return finding('CORS', [
    [allowed !== origin && allowed !== '*', `The API does not allow requests from ${origin}.`, fix],
  ])
}

/** Returns the first finding whose condition holds. */
function finding(check: string, findings: readonly (readonly [holds: unknown, cause: string, fix: string])[]): Check {
  const [, cause, fix] = findings.find(([holds]) => holds) ?? []
  return cause === undefined || fix === undefined ? { check } : { check, cause, fix }
}

/** Asks for the page that a login begins with, once for each redirect URI. Returns the first that is refused. */
async function askForLogin(config: AuthConfig, ports: readonly number[] | undefined) {
  const redirectUris = ports?.map((port) => withPort(config.redirectUri, port)) ?? [config.redirectUri]
  const logins = await Promise.all(
    redirectUris.map(async (redirectUri) => {
      const { url } = await startLogin({ ...config, redirectUri })
      return { redirectUri, reply: await ask(config, url.href) }
    }),
  )
  const refused = logins.find(({ reply }) => reply && reply.status >= 400)
  return refused ?? { redirectUri: config.redirectUri, reply: undefined, ...logins[0] }
}

/** Returns the redirect URI that a login with this port uses. Port 0 is one that the system chooses, so that the URI is without it. */
function withPort(redirectUri: string, port: number): string {
  const { protocol, hostname, pathname, search } = new URL(redirectUri)
  return `${protocol}//${hostname}${port === 0 ? '' : `:${port}`}${pathname}${search}`
}

function preflightFrom(origin: string): RequestInit {
  const headers = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type',
  }
  return { method: 'OPTIONS', headers }
}

async function ask({ fetch, timeoutMs }: AuthConfig, url: string, init: RequestInit = {}): Promise<Reply | undefined> {
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
    const text = (await readTextAtMost(response, maxRefusalBytes)) ?? ''
    return { status: response.status, headers: response.headers, isOfApi: 'success' in (parseObject(text) ?? {}) }
  } catch {
    return undefined
  }
}

/** Sends a refresh token that does not exist. A service of this dialect knows the client and refuses the token. */
async function refusalOf(config: AuthConfig): Promise<AgentAuthError | undefined> {
  try {
    await refreshTokens(config, { refreshToken: generateRandomState() })
    return undefined
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return error
  }
}
