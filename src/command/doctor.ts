import { isAgentAuthError } from '../errors.ts'
import { attempt } from '../internal/attempt.ts'
import type { TokenStorage } from '../storage/token-storage.ts'
import type { CommandLine } from './command-line.ts'
import { type Probes, probe, type Reply } from './probe.ts'
import { chooseSettings, openStorage, type Profile, profileOf } from './profile.ts'
import type { Result } from './session.ts'

/** One check: what is wrong and what to do, or neither. */
interface Check {
  readonly check: string
  readonly cause?: string
  readonly fix?: string
}

/** How far two clocks may differ, in milliseconds. The service rounds to seconds, and a response takes a while. */
const maxClockOffsetMs = 60_000

/** Checks the settings, the service and the storage. Exit code 1 is for a finding. */
export async function doctor({ profile: name, flags }: CommandLine): Promise<Result> {
  const storage = openStorage(process.env)
  const checks = [await checkStorage(storage)]
  const profile = checks[0]?.cause ? undefined : await openSettings(storage, name, flags)
  if (profile && 'check' in profile) checks.push(profile)
  else if (profile) {
    const { origin } = flags
    const probes = await probe(profile.config, origin)
    checks.push(
      { check: 'settings' },
      ...checkService(profile, probes),
      ...(origin === undefined ? [] : [checkCors(probes, origin)]),
    )
  }
  const findings = checks.filter(({ cause }) => cause !== undefined)
  return {
    exitCode: findings.length > 0 ? 1 : 0,
    text: checks.map(textOf).join('\n'),
    json: { checks: checks.map((each) => ({ ok: each.cause === undefined, ...each })) },
  }
}

function textOf({ check, cause, fix }: Check): string {
  return cause === undefined ? `ok       ${check}` : `problem  ${check}: ${cause}\n         ${fix}`
}

async function checkStorage(storage: { ready(): Promise<void> }): Promise<Check> {
  const check = 'storage and lock'
  try {
    await storage.ready()
    return { check }
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return { check, cause: error.message, fix: 'Check the folder of AGENT_AUTH_HOME and its permissions.' }
  }
}

async function openSettings(
  storage: TokenStorage,
  name: string,
  flags: CommandLine['flags'],
): Promise<Profile | Check> {
  try {
    return profileOf(storage, name, await chooseSettings(storage, name, flags))
  } catch (error) {
    if (!isAgentAuthError(error)) throw error
    return { check: 'settings', cause: error.message, fix: 'Pass --auth-url, --base-url and --client-id.' }
  }
}

function checkService({ config }: Profile, { authorize, token, api }: Probes): Check[] {
  const isKnown = token?.details?.error !== 'invalid_client' && token?.status !== 401
  const isRefused = authorize !== undefined && authorize.status >= 400 && !authorize.isOfApi
  const location = authorize?.headers.get('location') ?? ''
  const redirect = attempt(() => new URL(location, config.authUrl))
  return [
    finding('authorization server', [
      [!authorize, 'authUrl does not respond.', 'Check --auth-url, and that the service runs.'],
      [authorize?.isOfApi, 'authUrl is the API.', 'Swap --auth-url and --base-url.'],
      [authorize && authorize.status >= 500, 'The authorization server fails.', 'Try again later.'],
      [
        authorize && !redirect,
        'The authorization server redirects to a Location that is no URL.',
        'Check --auth-url. If it is right, the operator of the service has to correct that header.',
      ],
    ]),
    checkApi(api),
    finding('client', [
      [
        !isKnown,
        'The client is unknown, or its secret is missing or wrong.',
        'Check --client-id. Pass --client-secret-file for a confidential client, and none for a public client.',
      ],
    ]),
    finding('redirect URI', [
      [
        isRefused && isKnown,
        'The authorization server refuses the redirect URI.',
        `Register ${config.redirectUri} for the client, or pass --redirect-uri.`,
      ],
    ]),
    finding('dialect', [
      [
        authorize && isKnown && token && token.code !== 'grant_rejected',
        'The token endpoint does not take the form of this service.',
        'Check --auth-url. Another kind of service needs the option dialect of the library.',
      ],
    ]),
    finding('PKCE', [
      [
        redirect?.searchParams.get('error'),
        'The authorization server refuses a request with an S256 challenge.',
        'Turn PKCE with S256 on for the client.',
      ],
    ]),
    checkClock(authorize?.aheadMs ?? api?.aheadMs ?? 0),
  ]
}

function checkClock(aheadMs: number): Check {
  const cause = `The clock of the service is ${Math.round(aheadMs / 1_000)} s ahead.`
  return finding('clock', [[Math.abs(aheadMs) > maxClockOffsetMs, cause, 'Set the clock of this machine.']])
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

function checkCors({ preflight }: Probes, origin: string): Check {
  const allowed = preflight?.headers.get('access-control-allow-origin')
  return finding('CORS', [
    [
      allowed !== origin && allowed !== '*',
      `The API does not allow requests from ${origin}.`,
      'Register a redirect URI of this origin, or allow the origin at the service.',
    ],
  ])
}

/** Returns the first finding whose condition holds. */
function finding(
  check: string,
  findings: readonly (readonly [condition: unknown, cause: string, fix: string])[],
): Check {
  const [, cause, fix] = findings.find(([condition]) => condition) ?? []
  return cause === undefined || fix === undefined ? { check } : { check, cause, fix }
}
