import type { AuthConfig } from '../config.ts'
import type { AgentAuthError } from '../errors.ts'
import { attempt } from '../internal/attempt.ts'
import { remedyFor } from '../oauth-error-codes.ts'
import type { Probes, Reply } from './probe.ts'

/** One check: what is wrong and what to do, or why it was not made, or neither. */
export interface Check {
  readonly check: string
  readonly cause?: string
  readonly fix?: string
  readonly skipped?: string
}

/** How far two clocks may differ, in milliseconds. The service rounds to seconds, and a response takes a while. */
const maxClockOffsetMs = 60_000

/** Returns what the responses of the service tell about it and about the settings. */
export function checkService(config: AuthConfig, probes: Probes, origin: string | undefined): Check[] {
  const { authorize, redirectUri, token, api } = probes
  const server = checkAuthorizationServer(config, probes)
  const aheadMs = authorize?.aheadMs ?? api?.aheadMs
  return [
    server,
    checkApi(api),
    ...(server.cause === undefined && authorize && token
      ? checkClient({ ...config, redirectUri }, authorize, token)
      : ['client', 'redirect URI', 'dialect', 'PKCE'].map((check) => ({ check, skipped: 'no authorization server' }))),
    aheadMs === undefined ? { check: 'clock', skipped: 'no response has a Date header' } : checkClock(aheadMs),
    ...(origin === undefined ? [] : [checkCors(probes, origin)]),
  ]
}

function checkAuthorizationServer({ authUrl }: AuthConfig, { authorize, token }: Probes): Check {
  const hasBadLocation = authorize && !attempt(() => locationOf(authorize, authUrl))
  return finding('authorization server', [
    [!authorize, 'authUrl does not respond.', 'Check --auth-url, and that the service runs.'],
    [authorize?.isOfApi, 'authUrl is the API.', 'Swap --auth-url and --base-url.'],
    [authorize && authorize.status >= 500, 'The authorization server fails.', 'Try again later.'],
    [
      hasBadLocation,
      'The authorization server redirects to a Location that is no URL.',
      'Check --auth-url. If it is right, the operator of the service has to correct that header.',
    ],
    [
      !token?.status || token.status >= 500,
      'The token endpoint does not respond, or fails.',
      'Try again later. If it stays so, check --auth-url.',
    ],
  ])
}

/** Checks what only an authorization server that responds can tell. */
function checkClient({ authUrl, redirectUri }: AuthConfig, authorize: Reply, token: AgentAuthError): Check[] {
  const isKnown = token.details?.error !== 'invalid_client' && token.status !== 401
  const takesCodes = token.code === 'grant_rejected'
  const isRefused = authorize.status >= 400
  const refusal = locationOf(authorize, authUrl).searchParams.get('error') ?? undefined
  const isOther = refusal !== undefined && refusal !== 'invalid_request'
  const noClient = isKnown ? undefined : 'no client'
  return [
    finding(
      'client',
      [
        [
          !isKnown,
          'The client is unknown, or its secret is missing or wrong.',
          'Check --client-id. Pass --client-secret-file for a confidential client, and none for a public client.',
        ],
      ],
      takesCodes ? undefined : 'the token endpoint refuses the request',
    ),
    finding(
      'redirect URI',
      [
        [
          isRefused && isKnown,
          'The authorization server refuses the redirect URI.',
          `Register ${redirectUri} for the client, or pass the registered one with --redirect-uri and --ports.`,
        ],
      ],
      isRefused ? noClient : undefined,
    ),
    finding(
      'dialect',
      [
        [
          isKnown && !takesCodes,
          'The token endpoint does not take the form of this service.',
          'Check --auth-url. Another kind of service needs the option dialect of the library.',
        ],
      ],
      noClient,
    ),
    finding(
      'PKCE',
      [
        [
          refusal === 'invalid_request',
          'The authorization server refuses a request with an S256 challenge.',
          'Turn PKCE with S256 on for the client.',
        ],
      ],
      isRefused
        ? (noClient ?? 'no redirect URI')
        : isOther
          ? 'the authorization server refuses the request'
          : undefined,
    ),
    ...(isOther ? [refusedLogin(refusal)] : []),
  ]
}

/** Returns the check for an error with which the authorization server redirects back. Text of another kind is not quoted. */
function refusedLogin(error: string): Check {
  if (error === 'invalid_scope')
    return {
      check: 'scope',
      cause: 'The authorization server refuses the scope.',
      fix: 'Pass a --scope that the client is registered for.',
    }
  const remedy = remedyFor(error)
  return {
    check: 'login',
    cause: `The authorization server refuses a login${remedy ? ` with ${error}` : ''}.`,
    fix: remedy ?? 'Check the registration of the client.',
  }
}

/** Returns where a response redirects to, or the authorization server. Throws for a Location that is no URL. */
function locationOf({ headers }: Reply, authUrl: string): URL {
  return new URL(headers.get('location') ?? '', authUrl)
}

function checkClock(aheadMs: number): Check {
  const offsetMs = Math.abs(aheadMs)
  const cause = `The clock of the service is ${Math.round(offsetMs / 1_000)} s ${aheadMs > 0 ? 'ahead' : 'behind'}.`
  return finding('clock', [[offsetMs > maxClockOffsetMs, cause, 'Set the clock of this machine.']])
}

function checkApi(api: Reply | undefined): Check {
  return finding('API', [
    [!api, 'baseUrl does not respond.', 'Check --base-url, and that the service runs.'],
    [
      api && (!api.isOfApi || api.status === 404),
      'baseUrl is not the API.',
      'Check --base-url. Is it the authorization server?',
    ],
  ])
}

function checkCors({ api, preflight }: Probes, origin: string): Check {
  if (!preflight || checkApi(api).cause !== undefined) return { check: 'CORS', skipped: 'no API' }
  const allowed = preflight.headers.get('access-control-allow-origin')
  return finding('CORS', [
    [
      allowed !== origin && allowed !== '*',
      `The API does not allow requests from ${origin}.`,
      'Register a redirect URI of this origin, or allow the origin at the service.',
    ],
  ])
}

/** Returns the first finding whose condition holds. Without one, says why the check was not made, if it was not. */
function finding(
  check: string,
  findings: readonly (readonly [condition: unknown, cause: string, fix: string])[],
  skipped?: string,
): Check {
  const [, cause, fix] = findings.find(([condition]) => condition) ?? []
  if (cause !== undefined && fix !== undefined) return { check, cause, fix }
  return skipped === undefined ? { check } : { check, skipped }
}
