import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import type { AccessChange } from './access-change.ts'
import { readAccessChange } from './access-change.ts'
import { isRecord } from './check-shape.ts'
import { lifetimeRanges } from './lifetimes.ts'
import { defaultPorts, trustedProxies } from './limits.ts'
import { isLoopback, isLoopbackAddress } from './loopback.ts'
import { meantNames } from './near-name.ts'
import { serviceOptions } from './options.ts'
import type { Seed } from './seed-types.ts'
import type { ServiceOptions } from './service-options.ts'

export interface ServiceConfig {
  readonly dev: 'on' | 'off'
  readonly host: string
  readonly plainHttp: 'refused' | 'allowed'
  readonly authUrl: string
  readonly baseUrl: string
  readonly dataFile: string | undefined
  readonly seed: string | Seed | undefined
  readonly databaseUrl: string | undefined
  readonly passwordScheme: 'scrypt' | 'keyed'
  readonly rotation: 'rotate' | 'none'
  readonly graceMs: number
  readonly accessTokenLifeMs: number
  readonly codeLifeMs: number
  readonly tokenResponse: 'full' | 'minimal'
  readonly redirectUris: readonly string[]
  readonly allowedOrigins: readonly string[]
  readonly allowedHosts: readonly string[]
  readonly access: AccessChange
  readonly trustedProxies: number
  readonly log: 'off' | 'json' | 'pretty'
}

/** Throws a TypeError if the options are another value, as plain JavaScript can pass. */
export function checkIsObject(caller: string, options: unknown): void {
  if (!isRecord(options)) throw new TypeError(`${caller} needs an object of options`)
}

/**
 * Checks the options and sets the origins of a service without ports (`defaultPorts.auth`, 4,001; `defaultPorts.base`, 4,002).
 * lifetimes.ts and limits.ts have the defaults and ranges. Throws a TypeError or RangeError that names the option.
 */
export function createServiceConfig(options: ServiceOptions): ServiceConfig {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(serviceOptions, name))
  if (unknown !== undefined) throw new TypeError(unknownOption(unknown))
  const authUrl = originOf('authUrl', options.authUrl ?? `http://127.0.0.1:${defaultPorts.auth}`)
  const baseUrl = originOf('baseUrl', options.baseUrl ?? `http://127.0.0.1:${defaultPorts.base}`)
  if (authUrl === baseUrl) throw new TypeError('authUrl and baseUrl must be two different origins')
  const dev = oneOf('dev', options.dev ?? 'off', 'on', 'off')
  const host = listeningHost(options)
  const problem = dev === 'on' ? refuseDev({ authUrl, baseUrl, host }) : undefined
  if (problem !== undefined) throw new TypeError(problem)
  const { dataFile, databaseUrl } = options
  if (dataFile !== undefined && databaseUrl !== undefined)
    throw new TypeError('dataFile and databaseUrl exclude each other; remove one')
  // The permissions of group and others are removed from the file, and a folder has to keep them.
  if (dataFile !== undefined && statSync(dataFile, { throwIfNoEntry: false })?.isFile() === false)
    throw new TypeError(`dataFile ${JSON.stringify(dataFile)} is not a file; choose another path`)
  const isInMemory = dataFile === undefined && databaseUrl === undefined
  return Object.freeze({
    dev,
    host,
    plainHttp: oneOf('plainHttp', options.plainHttp ?? 'refused', 'refused', 'allowed'),
    authUrl,
    baseUrl,
    dataFile,
    seed: seedOf(options),
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
    allowedHosts: Object.freeze(listOf('allowedHosts', options.allowedHosts).map(hostNameOf)),
    access: readAccessChange(options.access ?? {}),
    trustedProxies: inRange('trustedProxies', options.trustedProxies),
    log: oneOf('log', options.log ?? 'off', 'off', 'json', 'pretty'),
  })
}

/**
 * Returns why the dev controls cannot be served at these origins, or undefined. The controls show passwords and secrets,
 * and behind a reverse proxy on this machine every request comes from loopback (S-084).
 */
export function refuseDev({
  authUrl,
  baseUrl,
  host,
}: Pick<ServiceOptions, 'authUrl' | 'baseUrl' | 'host'>): string | undefined {
  const isPublic = [authUrl, baseUrl].some((url) => url !== undefined && URL.canParse(url) && !isLoopback(url))
  if (isPublic) return 'the dev controls need loopback origins: use http://127.0.0.1, or turn dev off'
  return host === undefined || isLoopbackAddress(host)
    ? undefined
    : 'the dev controls need a loopback host: use 127.0.0.1, or turn dev off'
}

/**
 * Returns the address to listen on. Throws a TypeError for one beyond loopback without TLS, a proxy or a private network, because
 * passwords and tokens would be readable on the way (S-082).
 */
export function listeningHost({
  host = '127.0.0.1',
  plainHttp,
  trustedProxies = 0,
  authUrl,
  baseUrl,
}: ServiceOptions): string {
  if (isIP(host) === 0) throw new TypeError('host must be an IP address such as 127.0.0.1, 0.0.0.0 or ::1')
  const isTls = [authUrl, baseUrl].every((url) => url?.startsWith('https:'))
  if (isLoopbackAddress(host) || isTls || trustedProxies > 0 || plainHttp === 'allowed') return host
  throw new TypeError(
    "host is beyond loopback: set https in authUrl and baseUrl, trustedProxies, or plainHttp 'allowed' on a private network",
  )
}

/** Names the option, and the one that was probably meant. */
function unknownOption(name: string): string {
  const advice = 'Remove it; the README lists the options'
  // Other text may be a value in the wrong place, such as a URL with a password.
  if (!/^(?:\w{1,24}|[a-z-]{1,24})$/i.test(name)) return `agent-service does not know one of the options. ${advice}`
  const meant = meantNames(name, Object.keys(serviceOptions))
  return `${name} is not an option of agent-service. ${meant.length === 0 ? advice : `Did you mean ${meant.join(' or ')}?`}`
}

function oneOf<Value extends string>(name: string, value: Value, ...allowed: readonly Value[]): Value {
  if (allowed.includes(value)) return value
  throw new TypeError(
    `${name} must be ${allowed
      .map((one) => `'${one}'`)
      .join(', ')
      .replace(/, ([^,]*)$/, ' or $1')}`,
  )
}

function listOf(name: string, value: unknown): readonly string[] {
  if (value === undefined) return []
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value
  throw new TypeError(`${name} must be a list of strings`)
}

/** Returns a host name in lower case. A pattern or a URL would never match. */
function hostNameOf(text: string): string {
  const isName = /^[a-z\d](?:[a-z\d.-]*[a-z\d])?$/i.test(text)
  if (!isName) throw new TypeError('allowedHosts must be host names without scheme, port or wildcard')
  return text.toLowerCase()
}

const ranges = { ...lifetimeRanges, trustedProxies }

function inRange(name: keyof typeof ranges, given: number | undefined): number {
  const { least, most, standard } = ranges[name]
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

function seedOf({ seed, redirectUris = [] }: ServiceOptions): string | Seed | undefined {
  if (seed !== undefined && redirectUris.length > 0)
    throw new TypeError(
      'redirectUris adds to the demo clients alone; write the redirect URIs of other clients into the seed',
    )
  const isSeed = seed === undefined || isRecord(seed) || (typeof seed === 'string' && seed !== '')
  if (isSeed) return seed
  throw new TypeError('seed must be the path of a seed file, or a seed as an object')
}
