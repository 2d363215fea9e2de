import { type ClientAuth, None } from 'oauth4webapi'
import type { AuthEvent } from './events.ts'
import { type Clock, systemClock } from './internal/clock.ts'
import { defaultTimeoutMs, maxTimeoutMs } from './internal/limits.ts'
import { wasNotSent } from './internal/unconnected.ts'
import { checkNames, checkOneOf, invalid } from './internal/values.ts'
import { checkServiceUrl, isBrowser } from './service-url.ts'

/** Below a second a slow network never succeeds. */
const minTimeoutMs = 1_000

/** The options of `createAuthConfig`. */
export interface AuthConfigOptions {
  /** Origin of the authorization server, `{auth_url}` of the specification. https, or http on loopback. A path prefix is kept. */
  authUrl: string
  /** Origin of the API, `{base_url}` of the specification, by the rules of `authUrl`. */
  baseUrl: string
  /** The `client_id` of the registration. Printable ASCII. */
  clientId: string
  /** The secret of a confidential client. A browser rejects it, because it cannot keep a secret. */
  clientSecret?: string | undefined
  /** Sets how HTTP Basic encodes id and secret: `form` as RFC 6749 section 2.3.1 says, `raw` not at all. Default: `form`. */
  basicEncoding?: 'form' | 'raw' | undefined
  /** A registered redirect URI, sent byte for byte. */
  redirectUri: string
  /**
   * Host names that `authUrl`, `baseUrl` and the endpoints may have with http, on a network that you trust, such as that of containers.
   * Exact names without a port. Anyone who reads that network reads tokens. A browser refuses such URLs. Default: none.
   */
  allowHttpHosts?: readonly string[] | undefined
  /** Scope names, separated by one space. Default: `api.access`. */
  scope?: string | undefined
  /** Sets the form of token requests: as the Agent Management Service or as RFC 6749 wants them. Default: `service`. */
  dialect?: 'service' | 'standard' | undefined
  /** URL to which the browser goes to sign in. Default: `{authUrl}/auth/v1/authorize`. */
  authorizationEndpoint?: string | undefined
  /** URL for codes and refresh tokens. Default: `{authUrl}/auth/v1/token`. */
  tokenEndpoint?: string | undefined
  /** URL that ends the browser's sign-in at the service. Default: `{authUrl}/auth/v1/logout`. */
  endSessionEndpoint?: string | undefined
  /** If set, `iss` of a callback must equal it. RFC 9207. */
  issuer?: string | undefined
  /** Sets whether a callback must have `iss`. `required` needs `issuer`. Default: `optional`. */
  issuerParameter?: 'optional' | 'required' | undefined
  /** Sends every request of the library. Default: the platform's `fetch`, looked up at each call. */
  fetch?: typeof fetch | undefined
  /** Time limit of one token request with its response, in milliseconds, from 1,000 to 60,000. Default: 10,000. */
  timeoutMs?: number | undefined
  /** The clocks of the library. Default: those of the platform. */
  clock?: Clock | undefined
  /** Receives events without secrets. Its errors are ignored. */
  onEvent?: ((event: AuthEvent) => void) | undefined
}

/** A checked, frozen configuration. The client secret is only in the closure of `authenticate`. */
export interface AuthConfig {
  /** The option, without a slash at its end. */
  readonly authUrl: string
  /** The option, without a slash at its end. */
  readonly baseUrl: string
  /** The option. */
  readonly clientId: string
  /** `confidential` if there is a client secret. */
  readonly clientKind: 'public' | 'confidential'
  /** The option, or an empty list. */
  readonly allowHttpHosts: readonly string[]
  /** The option, byte for byte. */
  readonly redirectUri: string
  /** The option, or its default. */
  readonly scope: string
  /** The option, or its default. */
  readonly dialect: 'service' | 'standard'
  /** The option, or its default. */
  readonly authorizationEndpoint: string
  /** The option, or its default. */
  readonly tokenEndpoint: string
  /** The option, or its default. */
  readonly endSessionEndpoint: string
  /** The option. */
  readonly issuer: string | undefined
  /** The option, or its default. */
  readonly issuerParameter: 'optional' | 'required'
  /** The option, or its default, in milliseconds. */
  readonly timeoutMs: number
  /** The option, or the clocks of the platform. */
  readonly clock: Clock
  /** Adds the `Authorization` header of a confidential client, or the id of a public one to the body. Specification section 5.2. */
  readonly authenticate: ClientAuth
  /** Returns whether a failed `fetch` has sent nothing. A browser does not say it. */
  readonly wasNotSent: (error: unknown) => boolean
  /** Calls the `fetch` of the options, or that of the platform. */
  fetch(input: string, init: RequestInit): Promise<Response>
  /** Calls `onEvent` of the options and ignores its errors. */
  emit(event: AuthEvent): void
}

/** The names of the options of a page, for entry points that have the same. */
export const pageOptionNames: readonly (keyof AuthConfigOptions)[] = [
  'authUrl',
  'baseUrl',
  'clientId',
  'redirectUri',
  'scope',
  'dialect',
  'authorizationEndpoint',
  'tokenEndpoint',
  'endSessionEndpoint',
  'issuer',
  'issuerParameter',
  'fetch',
  'timeoutMs',
  'clock',
  'onEvent',
]

/** The names of all options of `createAuthConfig`. */
export const authOptionNames = /* @__PURE__ */ pageOptionNames.concat('clientSecret', 'basicEncoding', 'allowHttpHosts')

/**
 * Checks the options, sets the defaults and freezes the result. Later changes of the options have no effect.
 * Throws `config_invalid`, also for an option that it does not know. Specification section 5, RFC 6749 section 2.3.1.
 */
export function createAuthConfig(options: AuthConfigOptions): AuthConfig {
  const own = checkNames('createAuthConfig', options, authOptionNames)
  return serverConfig(own)
}

/** Does the work of `createAuthConfig` for callers that have checked the names of the options together with their own. */
export function serverConfig(options: AuthConfigOptions): AuthConfig {
  const config = configFrom(options, { authenticate: clientCredentials(options), wasNotSent })
  const hosts = config.allowHttpHosts.join(' ')
  if (hosts) config.emit({ type: 'http_allowed', hosts })
  return config
}

/** What a config has outside of browsers: the result of `clientCredentials`, and what a failed `fetch` says. */
interface Platform {
  readonly authenticate?: ClientAuth | undefined
  readonly wasNotSent?: AuthConfig['wasNotSent']
}

/**
 * Creates a config for callers that have checked the names and kinds of these options together with their own. The
 * entries for browsers leave out `platform`, because a page has no client secret, and its failures say nothing.
 */
export function configFrom(options: AuthConfigOptions, platform: Platform = {}): AuthConfig {
  const { authenticate, wasNotSent = () => false } = platform
  const { clientId, issuer, fetch: injected, onEvent } = options
  const { dialect = 'service', issuerParameter = 'optional' } = options
  const { scope = 'api.access', timeoutMs = defaultTimeoutMs } = options
  const allowHttpHosts = Object.freeze([options.allowHttpHosts ?? []].flat())
  const checked = (name: string, url: unknown): string => checkServiceUrl(name, url, allowHttpHosts)
  const authUrl = checked('authUrl', options.authUrl).replace(/\/+$/, '')
  const { authorizationEndpoint = `${authUrl}/auth/v1/authorize`, tokenEndpoint = `${authUrl}/auth/v1/token` } = options
  if (!options.tokenEndpoint && authUrl.includes('/auth/v1')) invalid('authUrl must not have the path /auth/v1')
  // Printable ASCII, and in a scope no quote and no backslash.
  checkText('clientId', clientId, /^[ -~]+$/, 'printable ASCII')
  checkText('scope', scope, /^[!#-[\]-~]+( [!#-[\]-~]+)*$/, 'space-separated tokens')
  if (issuer !== undefined || issuerParameter === 'required') checkText('issuer', issuer, /./, 'a text')
  checkOneOf('dialect', dialect, ['service', 'standard'])
  checkOneOf('issuerParameter', issuerParameter, ['optional', 'required'])
  if (typeof timeoutMs !== 'number' || !(timeoutMs >= minTimeoutMs && timeoutMs <= maxTimeoutMs))
    invalid(`timeoutMs must be ${minTimeoutMs} to ${maxTimeoutMs}`)
  return Object.freeze<AuthConfig>({
    authUrl,
    baseUrl: checked('baseUrl', options.baseUrl).replace(/\/+$/, ''),
    clientId,
    clientKind: authenticate ? 'confidential' : 'public',
    allowHttpHosts,
    redirectUri: checkServiceUrl('redirectUri', options.redirectUri),
    scope,
    dialect,
    authorizationEndpoint: checked('authorizationEndpoint', authorizationEndpoint),
    tokenEndpoint: checked('tokenEndpoint', tokenEndpoint),
    endSessionEndpoint: checked('endSessionEndpoint', options.endSessionEndpoint ?? `${authUrl}/auth/v1/logout`),
    issuer,
    issuerParameter,
    timeoutMs,
    clock: options.clock ?? systemClock,
    authenticate: authenticate ?? None(),
    wasNotSent,
    // Called without a receiver, because some platforms reject a fetch with another one than the global object.
    fetch: (input, init) => (injected ?? fetch)(input, init),
    emit(event) {
      // An error in a listener must not end a session.
      ;(async () => onEvent?.(event))().catch(() => {})
    },
  })
}

function checkText(name: string, value: unknown, form: RegExp, kind: string): void {
  if (!value) invalid(`${name} is missing`)
  if (typeof value !== 'string' || !form.test(value)) invalid(`${name} must be ${kind}`)
}

/**
 * Returns the authentication of a confidential client, HTTP Basic of RFC 6749 section 2.3.1, and undefined for a public one. `form` escapes
 * only what is outside of the unreserved characters, so that an ordinary id and secret are the same for servers that decode and for those
 * that do not. `ClientSecretBasic` of oauth4webapi escapes more. Throws `config_invalid`.
 */
function clientCredentials({
  clientSecret,
  basicEncoding = 'form',
}: Pick<AuthConfigOptions, 'clientSecret' | 'basicEncoding'>): ClientAuth | undefined {
  if (clientSecret === undefined) return undefined
  checkText('clientSecret', clientSecret, /./, 'a text')
  checkOneOf('basicEncoding', basicEncoding, ['form', 'raw'])
  if (isBrowser())
    invalid('a browser or jsdom keeps no clientSecret. Use a public client, a backend or // @vitest-environment node')
  const encode = basicEncoding === 'raw' ? String : escapeReserved
  return (_server, { client_id: clientId }, _body, headers) => {
    const bytes = new TextEncoder().encode(`${encode(clientId)}:${encode(clientSecret)}`)
    headers.set('authorization', `Basic ${btoa(String.fromCharCode(...bytes))}`)
  }
}

function escapeReserved(text: string): string {
  return encodeURIComponent(text).replace(/[!*'()]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
