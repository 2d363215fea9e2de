import type { AccessChange } from './access-change.ts'
import { readAccessChange } from './access-change.ts'
import { defaultPorts, optionRanges } from './limits.ts'
import { isLoopback } from './loopback.ts'
import { nearName } from './near-name.ts'
import { isRecord } from './shape.ts'

/** The options of `createService` and `startService`. Each has a default. */
export interface ServiceOptions {
  /** `on` serves the `/_dev/*` controls on loopback. Both origins must be loopback then. Default: `off`. */
  dev?: 'on' | 'off' | undefined
  /** Port of the authorization server, of `startService`. Default: a free one. */
  authPort?: number | undefined
  /** Port of the API, of `startService`. Default: a free one. */
  basePort?: number | undefined
  /** Public origin of the authorization server. Default: its own address on loopback. */
  authUrl?: string | undefined
  /** Public origin of the API. Default: its own address on loopback. */
  baseUrl?: string | undefined
  /** File of the database, created with mode 0600. Default: the data stays in memory. */
  dataFile?: string | undefined
  /** `postgresql://…`: a PostgreSQL database, which several processes may share. Excludes `dataFile`. */
  databaseUrl?: string | undefined
  /** How passwords are hashed. Default: `keyed` in memory, otherwise `scrypt`. */
  passwordScheme?: 'scrypt' | 'keyed' | undefined
  /** Whether a refresh replaces the refresh token. Default: `rotate`. */
  rotation?: 'rotate' | 'none' | undefined
  /** Grace period of a replaced refresh token, in milliseconds, from 0 to 600,000. Default: 30,000. */
  graceMs?: number | undefined
  /** Lifetime of an access token, in milliseconds, from 1,000 to 3,600,000. Default: 600,000. */
  accessTokenLifeMs?: number | undefined
  /** Lifetime of an authorization code, in milliseconds, from 1,000 to 600,000. Default: 60,000. */
  codeLifeMs?: number | undefined
  /** Members of a token response. `minimal` has `access_token` and `refresh_token` only. Default: `full`. */
  tokenResponse?: 'full' | 'minimal' | undefined
  /** Redirect URIs to register for every demo client, in addition to the defaults. Default: none. */
  redirectUris?: string[] | undefined
  /** Origins that may read responses (CORS), in addition to those of redirect URIs. Default: none. */
  allowedOrigins?: string[] | undefined
  /** Which requests of the API get 403, set at each start and after a reset. Default: as seeded. */
  access?: AccessChange | undefined
  /**
   * Number of reverse proxies before the service, from 0 to 10. Each must append the address of its peer to
   * X-Forwarded-For, and clients must not be able to reach the service around them. Default: 0, the header is not read.
   */
  trustedProxies?: number | undefined
}

export interface ServiceConfig {
  readonly dev: 'on' | 'off'
  readonly authUrl: string
  readonly baseUrl: string
  readonly dataFile: string | undefined
  readonly databaseUrl: string | undefined
  readonly passwordScheme: 'scrypt' | 'keyed'
  readonly rotation: 'rotate' | 'none'
  readonly graceMs: number
  readonly accessTokenLifeMs: number
  readonly codeLifeMs: number
  readonly tokenResponse: 'full' | 'minimal'
  readonly redirectUris: readonly string[]
  readonly allowedOrigins: readonly string[]
  readonly access: AccessChange
  readonly trustedProxies: number
}

/** The type makes an option that is missing here a compile error. */
const known: Record<keyof ServiceOptions, true> = {
  dev: true,
  authPort: true,
  basePort: true,
  authUrl: true,
  baseUrl: true,
  dataFile: true,
  databaseUrl: true,
  passwordScheme: true,
  rotation: true,
  graceMs: true,
  accessTokenLifeMs: true,
  codeLifeMs: true,
  tokenResponse: true,
  redirectUris: true,
  allowedOrigins: true,
  access: true,
  trustedProxies: true,
}

/** Throws a TypeError if the options are another value, as plain JavaScript can pass. */
export function checkIsObject(caller: string, options: unknown): void {
  if (!isRecord(options)) throw new TypeError(`${caller} needs an object of options`)
}

export function createServiceConfig(options: ServiceOptions): ServiceConfig {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined) throw new TypeError(unknownOption(unknown))
  const authUrl = originOf('authUrl', options.authUrl ?? `http://127.0.0.1:${defaultPorts.auth}`)
  const baseUrl = originOf('baseUrl', options.baseUrl ?? `http://127.0.0.1:${defaultPorts.base}`)
  if (authUrl === baseUrl) throw new TypeError('authUrl and baseUrl must be two different origins')
  const dev = oneOf('dev', options.dev ?? 'off', 'on', 'off')
  const problem = dev === 'on' ? refuseDev({ authUrl, baseUrl }) : undefined
  if (problem !== undefined) throw new TypeError(problem)
  const { dataFile, databaseUrl } = options
  if (dataFile !== undefined && databaseUrl !== undefined)
    throw new TypeError('dataFile and databaseUrl exclude each other; remove one')
  const isInMemory = dataFile === undefined && databaseUrl === undefined
  return Object.freeze({
    dev,
    authUrl,
    baseUrl,
    dataFile,
    databaseUrl: databaseUrl === undefined ? undefined : postgresUrlOf(databaseUrl),
    passwordScheme: oneOf(
      'passwordScheme',
      options.passwordScheme ?? (isInMemory ? 'keyed' : 'scrypt'),
      'scrypt',
      'keyed',
    ),
    rotation: oneOf('rotation', options.rotation ?? 'rotate', 'rotate', 'none'),
    graceMs: inRange('graceMs', options.graceMs),
    accessTokenLifeMs: inRange('accessTokenLifeMs', options.accessTokenLifeMs),
    codeLifeMs: inRange('codeLifeMs', options.codeLifeMs),
    tokenResponse: oneOf('tokenResponse', options.tokenResponse ?? 'full', 'full', 'minimal'),
    redirectUris: Object.freeze([...listOf('redirectUris', options.redirectUris)]),
    allowedOrigins: Object.freeze(
      listOf('allowedOrigins', options.allowedOrigins).map((origin) => originOf('allowedOrigins', origin)),
    ),
    access: readAccessChange(options.access ?? {}),
    trustedProxies: inRange('trustedProxies', options.trustedProxies),
  })
}

/**
 * Returns why the dev controls cannot be served at these origins, or undefined. The controls show passwords and secrets,
 * and behind a reverse proxy on this machine every request comes from loopback (S-084).
 */
export function refuseDev({ authUrl, baseUrl }: Pick<ServiceOptions, 'authUrl' | 'baseUrl'>): string | undefined {
  const isPublic = [authUrl, baseUrl].some((url) => url !== undefined && URL.canParse(url) && !isLoopback(url))
  return isPublic ? 'the dev controls need loopback origins: use http://127.0.0.1, or turn dev off' : undefined
}

/** Names the option, and the one that was probably meant. */
function unknownOption(name: string): string {
  const advice = 'Remove it; the README lists the options'
  // Other text may be a value in the wrong place, such as a URL with a password.
  if (!/^\w{1,24}$/.test(name)) return `agent-service does not know one of the options. ${advice}`
  const meant = nearName(name, Object.keys(known))
  return `${name} is not an option of agent-service. ${meant === undefined ? advice : `Did you mean ${meant}?`}`
}

function oneOf<Value extends string>(name: string, value: Value, one: Value, other: Value): Value {
  if (value === one || value === other) return value
  throw new TypeError(`${name} must be '${one}' or '${other}'`)
}

function listOf(name: string, value: unknown): readonly string[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
  throw new TypeError(`${name} must be a list of strings`)
}

function inRange(name: keyof typeof optionRanges, given: number | undefined): number {
  const { least, most, standard } = optionRanges[name]
  const value = given ?? standard
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value
  throw new RangeError(`${name} must be a whole number from ${least} to ${most}`)
}

/** Returns the URL of a PostgreSQL database. The error does not quote it, because it holds a password. */
function postgresUrlOf(text: string): string {
  const isPostgres = URL.canParse(text) && /^postgres(?:ql)?:$/.test(new URL(text).protocol)
  if (!isPostgres) throw new TypeError('databaseUrl must be a postgresql:// URL')
  return text
}

function originOf(name: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isOrigin = url !== undefined && /^https?:$/.test(url.protocol) && text.replace(/\/$/, '') === url.origin
  if (!isOrigin) throw new TypeError(`${name} must be an http or https origin without path, query or userinfo`)
  return url.origin
}
