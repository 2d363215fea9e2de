import { allowInsecureRequests, customFetch, discoveryRequest, processDiscoveryResponse } from 'oauth4webapi'
import type { AuthConfigOptions } from '../config.ts'
import { AgentAuthError, isAgentAuthError } from '../errors.ts'
import { defaultTimeoutMs } from '../internal/limits.ts'
import { withDeadline } from '../internal/timeouts.ts'
import { checkNames, checkSignal, invalid, present } from '../internal/values.ts'
import { checkServiceUrl } from '../service-url.ts'
import { readTextAtMost } from '../token-endpoint/response.ts'

/** The options of `discover`. */
export interface DiscoverOptions {
  /** Where the metadata is: `oidc` at `{issuer}/.well-known/openid-configuration`, or `oauth2` as RFC 8414 says. Default: `oidc`. */
  readonly algorithm?: 'oidc' | 'oauth2' | undefined
  /** Host names that the issuer may have with http, as the option of `createAuthConfig`. Default: none. */
  readonly allowHttpHosts?: readonly string[] | undefined
  /** Sends the request. Default: the platform's `fetch`. */
  readonly fetch?: typeof fetch | undefined
  /** Time limit of the request with its response, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number | undefined
  /** Aborts the request. */
  readonly signal?: AbortSignal | undefined
}

/** The metadata of an authorization server, as options of this library. */
export interface Discovery {
  /** Options of `createAuthConfig`, `createBrowserAuth`, `createBackend` and `signInWithLoopback`. */
  readonly server: Pick<
    AuthConfigOptions,
    'authorizationEndpoint' | 'tokenEndpoint' | 'endSessionEndpoint' | 'allowHttpHosts'
  > &
    Required<Pick<AuthConfigOptions, 'authUrl' | 'issuer' | 'issuerParameter' | 'dialect'>>
  /** The option of `createBackend`. Undefined if the server names none. */
  readonly revocationEndpoint: string | undefined
}

/** The metadata of known servers has 2 to 10 KiB. */
const maxMetadataBytes = 262_144

/**
 * Reads the metadata of the authorization server `issuer`, and checks that it names this issuer and https endpoints. Sends one request, and
 * follows no redirect. Rejects with `config_invalid`, `response_invalid`, `response_too_large`, `temporarily_unavailable`, `timeout` or
 * `aborted`. OpenID Connect Discovery 1.0 section 4, RFC 8414 section 3.
 */
export async function discover(issuer: string, options: DiscoverOptions = {}): Promise<Discovery> {
  const own = checkNames('discover', options, ['algorithm', 'allowHttpHosts', 'fetch', 'timeoutMs', 'signal'])
  const { algorithm = 'oidc', allowHttpHosts = [], timeoutMs = defaultTimeoutMs, signal } = own
  if (algorithm !== 'oidc' && algorithm !== 'oauth2') invalid('algorithm must be oidc or oauth2')
  checkSignal(signal)
  const url = new URL(checkServiceUrl('issuer', issuer, allowHttpHosts))
  const response = await withDeadline(
    timeoutMs,
    (signal) => metadataResponse(url, { ...own, algorithm, signal }),
    signal,
  )
  const metadata = await processDiscoveryResponse(url, response).catch(() => {
    throw unusable(`${url.origin} sent no metadata of this issuer. Compare issuer with that of its document.`)
  })
  const endpoint = (name: string): string | undefined => {
    const value = metadata[name]
    if (value === undefined) return undefined
    try {
      return checkServiceUrl(name, value, allowHttpHosts)
    } catch {
      throw unusable(`The metadata of ${url.origin} has a ${name} that is no https URL.`)
    }
  }
  const authorizationEndpoint = endpoint('authorization_endpoint')
  const tokenEndpoint = endpoint('token_endpoint')
  if (!authorizationEndpoint || !tokenEndpoint)
    throw unusable(`The metadata of ${url.origin} names no authorization_endpoint or no token_endpoint.`)
  const hasIssuerParameter = metadata.authorization_response_iss_parameter_supported === true
  return {
    server: {
      authUrl: issuer,
      issuer: metadata.issuer,
      issuerParameter: hasIssuerParameter ? 'required' : 'optional',
      dialect: 'standard',
      authorizationEndpoint,
      tokenEndpoint,
      ...present({ endSessionEndpoint: endpoint('end_session_endpoint'), allowHttpHosts: own.allowHttpHosts }),
    },
    revocationEndpoint: endpoint('revocation_endpoint'),
  }
}

/** Returns the response with its bounded body. An error of `fetch` goes no further, because it may quote what was read. */
async function metadataResponse(issuer: URL, options: DiscoverOptions & { signal: AbortSignal }): Promise<Response> {
  const { algorithm, fetch: send = fetch, signal } = options
  try {
    const response = await discoveryRequest(issuer, {
      ...(algorithm && { algorithm }),
      // `checkServiceUrl` decides where http may be.
      [allowInsecureRequests]: true,
      // oauth4webapi names itself in `User-Agent`, which a page may not send without a preflight.
      [customFetch]: (url) => send(url, { headers: { accept: 'application/json' }, redirect: 'manual', signal }),
      signal,
    })
    const { status, headers } = response
    if (status === 429 || status >= 500) throw unavailable(`${issuer.origin} responded with ${status}.`)
    if (status !== 200)
      invalid(`${issuer.origin} has no metadata of this issuer (${status}). Check issuer and algorithm`)
    const text = await readTextAtMost(response, maxMetadataBytes)
    if (text !== undefined)
      return new Response(text, { headers: { 'content-type': headers.get('content-type') ?? '' } })
    throw new AgentAuthError('response_too_large', `The metadata of ${issuer.origin} has more than 256 KiB.`)
  } catch (error) {
    throw isAgentAuthError(error) ? error : unavailable(`${issuer.origin} did not respond.`)
  }
}

function unavailable(what: string): AgentAuthError {
  return new AgentAuthError('temporarily_unavailable', `${what} Try again, or check issuer.`, { retryable: true })
}

function unusable(message: string): AgentAuthError {
  return new AgentAuthError('response_invalid', message)
}
