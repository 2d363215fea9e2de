import { basicCredentials } from './config/client-authentication.ts'
import { invalid } from './config/invalid.ts'
import { checkOptions, clockKind, type OptionKinds } from './config/options.ts'
import { checkServiceUrl } from './config/service-url.ts'
import type { AuthEvent } from './events.ts'
import { type Clock, systemClock } from './internal/clock.ts'

/** The options of `createAuthConfig`. */
export interface AuthConfigOptions {
  /** Authorization host, `{auth_url}` of the specification. https, or http on loopback. A path prefix is kept. */
  authUrl: string
  /** API host, `{base_url}` of the specification. Same rules as `authUrl`. */
  baseUrl: string
  /** The `client_id` of the registration. Printable ASCII. */
  clientId: string
  /** Only for confidential clients; refused where there is a browser. */
  clientSecret?: string | undefined
  /** How HTTP Basic carries id and secret: `form` escapes as RFC 6749 section 2.3.1 says, `raw` sends them as they are. Default `form`. */
  basicEncoding?: 'form' | 'raw' | undefined
  /** One of the registered redirect URIs, sent byte for byte. */
  redirectUri: string
  /** Default `api.access`. */
  scope?: string | undefined
  /** `service` speaks the Agent Management Service's token dialect, `standard` plain RFC 6749. Default `service`. */
  dialect?: 'service' | 'standard' | undefined
  /** Default `{authUrl}/auth/v1/authorize`. */
  authorizationEndpoint?: string | undefined
  /** Default `{authUrl}/auth/v1/token`. */
  tokenEndpoint?: string | undefined
  /** When set, an `iss` in the callback must equal it (RFC 9207). */
  issuer?: string | undefined
  /** Whether the callback must carry `iss`. Default `optional`; needs `issuer`. */
  issuerParameter?: 'optional' | 'required' | undefined
  /** Default: the platform's `fetch`, looked up at each call. */
  fetch?: typeof fetch | undefined
  /** Deadline of one token request, headers and body together. Milliseconds, 1,000 to 60,000; default 10,000. */
  timeoutMs?: number | undefined
  /** Where the library reads time. Default: the clocks of the platform. */
  clock?: Clock | undefined
  /** Receives structured events without any secret. What it throws is ignored. */
  onEvent?: ((event: AuthEvent) => void) | undefined
}

/** A checked, frozen configuration. The client secret lives only in the closure of `authorization`. */
export interface AuthConfig {
  /** The option, without a slash at its end. */
  readonly authUrl: string
  /** The option, without a slash at its end. */
  readonly baseUrl: string
  /** The option. */
  readonly clientId: string
  /** `confidential` if there is a client secret. */
  readonly clientKind: 'public' | 'confidential'
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
  /** The option. */
  readonly issuer: string | undefined
  /** The option, or its default. */
  readonly issuerParameter: 'optional' | 'required'
  /** The option, or its default. Milliseconds. */
  readonly timeoutMs: number
  /** The option, or the clocks of the platform. */
  readonly clock: Clock
  /** What a confidential client proves itself with; a public one names itself in the body. Specification section 5.2. */
  authorization(): string | undefined
  /** Calls the `fetch` of the options, or the platform’s. */
  fetch(input: string, init: RequestInit): Promise<Response>
  /** Calls `onEvent` of the options and ignores what it throws. */
  emit(event: AuthEvent): void
}

export const authOptionKinds: OptionKinds<AuthConfigOptions> = {
  authUrl: 'string',
  baseUrl: 'string',
  clientId: 'string',
  clientSecret: 'string',
  basicEncoding: { oneOf: ['form', 'raw'] },
  redirectUri: 'string',
  scope: 'string',
  dialect: { oneOf: ['service', 'standard'] },
  authorizationEndpoint: 'string',
  tokenEndpoint: 'string',
  issuer: 'string',
  issuerParameter: { oneOf: ['optional', 'required'] },
  fetch: 'function',
  timeoutMs: 'number',
  clock: clockKind,
  onEvent: 'function',
}

/**
 * Checks the options, fills in the defaults and freezes the result; later changes to the options have no effect.
 * Throws `config_invalid`. Specification section 5, RFC 6749 section 2.3.1.
 */
export function createAuthConfig(options: AuthConfigOptions): AuthConfig {
  checkOptions('createAuthConfig', options, authOptionKinds)
  return configFrom(options)
}

/** Throws `config_invalid` for what `createAuthConfig` did not return, such as its options. */
export function checkConfig(caller: string, config: AuthConfig): void {
  if (typeof config?.emit !== 'function') invalid(`${caller} needs the config that createAuthConfig returns`)
}

/** What `createAuthConfig` returns, for callers that have checked the names and kinds of the options along with their own. */
export function configFrom(options: AuthConfigOptions): AuthConfig {
  const { clientId, clientSecret, basicEncoding = 'form', issuer, fetch: injected, onEvent } = options
  const { dialect = 'service', issuerParameter = 'optional', scope = 'api.access', timeoutMs = 10_000 } = options
  const authUrl = checkServiceUrl('authUrl', options.authUrl).replace(/\/+$/, '')
  const { authorizationEndpoint = `${authUrl}/auth/v1/authorize`, tokenEndpoint = `${authUrl}/auth/v1/token` } = options
  checkValues({ ...options, issuerParameter, scope, timeoutMs })
  return Object.freeze<AuthConfig>({
    authUrl,
    baseUrl: checkServiceUrl('baseUrl', options.baseUrl).replace(/\/+$/, ''),
    clientId,
    clientKind: clientSecret === undefined ? 'public' : 'confidential',
    redirectUri: checkServiceUrl('redirectUri', options.redirectUri),
    scope,
    dialect,
    authorizationEndpoint: checkServiceUrl('authorizationEndpoint', authorizationEndpoint),
    tokenEndpoint: checkServiceUrl('tokenEndpoint', tokenEndpoint),
    issuer,
    issuerParameter,
    timeoutMs,
    clock: options.clock ?? systemClock,
    authorization: () =>
      clientSecret === undefined ? undefined : basicCredentials(clientId, clientSecret, basicEncoding),
    // Called bare: some platforms refuse a fetch with another receiver.
    fetch: (input, init) => (injected ?? fetch)(input, init),
    emit(event) {
      try {
        Promise.resolve(onEvent?.(event) as unknown).catch(() => {})
      } catch {
        // A listener must not be able to end a session.
      }
    },
  })
}

type Checked = AuthConfigOptions & { scope: string; timeoutMs: number }

function checkValues({ clientId, clientSecret, issuer, issuerParameter, scope, timeoutMs }: Checked): void {
  // Printable ASCII, and for a scope without quote and backslash.
  if (!/^[ -~]+$/.test(clientId || '\n')) invalid(`clientId ${clientId ? 'must be printable ASCII' : 'is missing'}`)
  if (!/^[!#-[\]-~]+( [!#-[\]-~]+)*$/.test(scope)) invalid('scope must be space-separated tokens')
  if (!(timeoutMs >= 1_000 && timeoutMs <= 60_000)) invalid('timeoutMs must be 1,000 to 60,000')
  if (issuer === '' || (issuer === undefined && issuerParameter === 'required'))
    invalid('issuer must be text, and there for issuerParameter: required')
  if (clientSecret === undefined) return
  if (!clientSecret) invalid('clientSecret is empty. Set it, or leave it out')
  if ('document' in globalThis || 'importScripts' in globalThis)
    invalid('a browser cannot keep a clientSecret: use a public client or a backend')
}
