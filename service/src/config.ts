import { statSync } from 'node:fs'
import { problemText } from './issue-text.ts'
import { defaultPorts, lifetimeRanges, trustedProxies } from './limits.ts'
import { isLoopback, isLoopbackAddress } from './loopback.ts'
import { serviceOptions } from './options.ts'
import { refuseRedirectUri } from './redirect-uris.ts'
import type { ServiceOptions } from './service-options.ts'

type Optional = 'dataFile' | 'databaseUrl' | 'seed'

/** Options without those that are undefined. */
type Given = { [Name in keyof ServiceOptions]?: Exclude<ServiceOptions[Name], undefined> }

/** The options with their defaults. */
export type ServiceConfig = {
  readonly [Name in Exclude<keyof ServiceOptions, 'authPort' | 'basePort'>]-?: Name extends Optional
    ? ServiceOptions[Name] | undefined
    : NonNullable<ServiceOptions[Name]>
}

/**
 * Returns a copy of the options without those that are undefined. Throws a TypeError that names the first unknown or wrong option,
 * without its value.
 */
export function checkOptions(options: ServiceOptions): Given {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new TypeError('agent-service needs an object of options')
  const checked = Object.entries(options).flatMap(([name, value]) => {
    if (!isOption(name)) throw new TypeError(unknownOption(name))
    return value === undefined ? [] : [[name, checkedOption(name, value)]]
  })
  return Object.fromEntries(checked)
}

function isOption(name: string): name is keyof ServiceOptions {
  return Object.hasOwn(serviceOptions, name)
}

function unknownOption(name: string): string {
  // Other text may be a value in the wrong place, such as a URL with a password.
  const shown = /^\w{1,24}$/.test(name) ? `${name} is not an option of agent-service` : 'one of the options is unknown'
  return `${shown}; remove it, or correct its name. The README lists the options`
}

function checkedOption(name: keyof ServiceOptions, value: unknown): unknown {
  const { schema, kind, expected } = serviceOptions[name]
  const result = schema.safeParse(value, { reportInput: true })
  if (result.success) return result.data
  if (name === 'access') throw new TypeError(`invalid access: ${problemText(result.error)}`)
  throw new TypeError(`${name} must be ${kind === 'list' ? 'a list of ' : ''}${expected}`)
}

/** Checks the options and sets the defaults, with the origins of a service without ports. Throws a TypeError that names the option. */
export function createServiceConfig(options: ServiceOptions): ServiceConfig {
  const { authPort: _authPort, basePort: _basePort, ...given } = checkOptions(options)
  const { dev = 'off', dataFile, databaseUrl, seed, redirectUris = [] } = given
  const { authUrl = `http://127.0.0.1:${defaultPorts.auth}`, baseUrl = `http://127.0.0.1:${defaultPorts.base}` } = given
  if (authUrl === baseUrl) throw new TypeError('authUrl and baseUrl must be two different origins')
  const host = listeningHost(given)
  const problem = dev === 'on' ? refuseDev({ authUrl, baseUrl, host }) : undefined
  if (problem !== undefined) throw new TypeError(problem)
  if (dataFile !== undefined && databaseUrl !== undefined)
    throw new TypeError('dataFile and databaseUrl exclude each other; remove one')
  if (seed !== undefined && redirectUris.length > 0)
    throw new TypeError(
      'redirectUris adds to the demo clients alone; write the redirect URIs of other clients into the seed',
    )
  const badUri = redirectUris.map(refuseRedirectUri).find((refusal) => refusal !== undefined)
  if (badUri !== undefined) throw new TypeError(`redirectUris: ${badUri}`)
  // The permissions of group and others are removed from the file, and a folder has to keep them.
  if (dataFile !== undefined && statSync(dataFile, { throwIfNoEntry: false })?.isFile() === false)
    throw new TypeError(`dataFile ${JSON.stringify(dataFile)} is not a file; choose another path`)
  return Object.freeze({
    plainHttp: 'refused',
    passwordScheme: dataFile === undefined && databaseUrl === undefined ? 'keyed' : 'scrypt',
    rotation: 'rotate',
    graceMs: lifetimeRanges.graceMs.standard,
    accessTokenLifeMs: lifetimeRanges.accessTokenLifeMs.standard,
    codeLifeMs: lifetimeRanges.codeLifeMs.standard,
    tokenResponse: 'full',
    tokenClaims: 'standard',
    allowedOrigins: [],
    allowedHosts: [],
    access: {},
    trustedProxies: trustedProxies.standard,
    log: 'off',
    ...given,
    ...{ dev, host, authUrl, baseUrl, dataFile, databaseUrl, seed, redirectUris },
  } satisfies ServiceConfig)
}

/**
 * Returns why the dev controls cannot be served at these origins, or undefined. The controls show passwords and secrets,
 * and behind a reverse proxy on this machine every request comes from loopback.
 */
export function refuseDev({
  authUrl,
  baseUrl,
  host,
}: Pick<ServiceOptions, 'authUrl' | 'baseUrl' | 'host'>): string | undefined {
  const isPublic = [authUrl, baseUrl].some((url) => url !== undefined && !isLoopback(url))
  if (isPublic) return 'the dev controls need loopback origins: use http://127.0.0.1, or turn dev off'
  return host === undefined || isLoopbackAddress(host)
    ? undefined
    : 'the dev controls need a loopback host: use 127.0.0.1, or turn dev off'
}

/**
 * Returns the address to listen on. Throws a TypeError for one beyond loopback without TLS, a proxy or a private network, because
 * passwords and tokens would be readable on the way.
 */
export function listeningHost({
  host = '127.0.0.1',
  plainHttp,
  trustedProxies = 0,
  authUrl,
  baseUrl,
}: ServiceOptions): string {
  const isTls = [authUrl, baseUrl].every((url) => url?.startsWith('https:'))
  if (isLoopbackAddress(host) || isTls || trustedProxies > 0 || plainHttp === 'allowed') return host
  throw new TypeError(
    "host is beyond loopback: set https in authUrl and baseUrl, trustedProxies, or plainHttp 'allowed' on a private network",
  )
}
