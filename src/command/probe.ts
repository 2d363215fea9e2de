import { genericTokenEndpointRequest } from 'oauth4webapi'
import { startLogin } from '../authorize.ts'
import type { AuthConfig } from '../config.ts'
import { type AgentAuthError, isAgentAuthError } from '../errors.ts'
import { attempt } from '../internal/attempt.ts'
import { randomText } from '../internal/base64url.ts'
import { maxRefusalBytes } from '../internal/limits.ts'
import { readTextAtMost } from '../internal/read-at-most.ts'
import { requestTokens } from '../token-endpoint.ts'
import { redirectUrisOf } from './ports.ts'

/** What the service responds to requests that need no user. */
export interface Probes {
  /** The page that a login begins with: the first that is refused, if there is more than one port. */
  readonly authorize: Reply | undefined
  /** The redirect URI of that login. */
  readonly redirectUri: string
  /** The refusal of an authorization code that does not exist. */
  readonly token: AgentAuthError | undefined
  /** A search without a token. */
  readonly api: Reply | undefined
  /** A preflight from the origin of the option, if there is one. */
  readonly preflight: Reply | undefined
}

/** A response. undefined in its place means that there was none. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** Whether it has the form of the API. */
  readonly isOfApi: boolean
  /** How far the clock of the service is ahead of this one, in milliseconds. */
  readonly aheadMs: number | undefined
}

const searchPath = '/api/llm_models/search'

/** What the settings of the library do not hold. */
export interface ProbeOptions {
  readonly origin?: string | undefined
  readonly ports?: readonly number[] | undefined
}

/** Sends every request side by side, and one to the sign-in page for each port. */
export async function probe(config: AuthConfig, { origin, ports }: ProbeOptions): Promise<Probes> {
  const api = config.baseUrl + searchPath
  const [login, token, search, preflight] = await Promise.all([
    askForLogin(config, redirectUrisOf(config.redirectUri, ports)),
    refusalOf(config),
    ask(config, api, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }),
    origin === undefined ? undefined : ask(config, api, preflightFrom(origin)),
  ])
  return { ...login, token, api: search, preflight }
}

async function askForLogin(
  config: AuthConfig,
  redirectUris: readonly string[],
): Promise<Pick<Probes, 'authorize' | 'redirectUri'>> {
  const logins = await Promise.all(
    redirectUris.map(async (redirectUri) => {
      const { url } = await startLogin({ ...config, redirectUri })
      return { redirectUri, authorize: await ask(config, url.href) }
    }),
  )
  const [first = { redirectUri: config.redirectUri, authorize: undefined }] = logins
  return logins.find(({ authorize }) => authorize && authorize.status >= 400) ?? first
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
  const sentAtMs = Date.now()
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
    const { status, headers } = response
    const text = (await readTextAtMost(response, maxRefusalBytes)) ?? ''
    const body: unknown = attempt(() => JSON.parse(text))
    const dateMs = Date.parse(headers.get('date') ?? '')
    return {
      status,
      headers,
      isOfApi: typeof body === 'object' && body !== null && 'success' in body,
      aheadMs: Number.isNaN(dateMs) ? undefined : dateMs - (sentAtMs + Date.now()) / 2,
    }
  } catch {
    return undefined
  }
}

/** Redeems a code that does not exist. A service of this dialect knows the client and refuses the code. */
async function refusalOf(config: AuthConfig): Promise<AgentAuthError | undefined> {
  const parameters = { redirect_uri: config.redirectUri, code: randomText(), code_verifier: randomText() }
  try {
    await requestTokens(config, {
      grant: 'authorization_code',
      send: (server, client, authenticate, options) =>
        genericTokenEndpointRequest(server, client, authenticate, 'authorization_code', parameters, options),
      previous: undefined,
      signal: undefined,
    })
    return undefined
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return error
  }
}
