import { invalid } from './config/invalid.ts'
import { checkedElsewhere, checkOptions, type OptionKinds } from './config/options.ts'
import { type AuthConfig, checkConfig } from './config.ts'
import { AgentAuthError } from './errors.ts'
import { attempt } from './internal/attempt.ts'
import { base64url, randomText } from './internal/base64url.ts'
import { present } from './internal/present.ts'
import { redacted } from './internal/redacted.ts'

/** One login on its way: plain and serialisable, to be kept where only this person's browser or session can read it. */
export interface PendingLogin {
  readonly v: 1
  /** The `state` of the authorize URL. */
  readonly state: string
  /** The PKCE verifier. It is a secret until the exchange. RFC 7636 section 4.1. */
  readonly codeVerifier: string
  /** The client that started the login. */
  readonly clientId: string
  /** The redirect URI as it was sent. */
  readonly redirectUri: string
  /** The token endpoint that the code is for. */
  readonly tokenEndpoint: string
  /** The issuer that `iss` of the callback must equal. RFC 9207. */
  readonly issuer?: string
  /** Whether the callback must carry `iss`. */
  readonly issuerParameter: 'optional' | 'required'
  /** Path, query and hash on the redirect URI's origin. */
  readonly returnTo?: string
  /** When the login started, in epoch milliseconds. */
  readonly createdAtMs: number
}

/** The options of `startLogin`. */
export interface StartLoginOptions {
  /** Where the person wants to go; anything off the redirect URI's origin becomes `/`. */
  readonly returnTo?: string | undefined
  /** Further authorize parameters, for example `prompt`; those of the protocol cannot be set. */
  readonly params?: Readonly<Record<string, string>> | undefined
  /** A state of the caller's own: 22 to 512 unreserved characters of at least 128 random bits. */
  readonly state?: string | undefined
}

const optionKinds: OptionKinds<StartLoginOptions> = { returnTo: 'string', params: checkedElsewhere, state: 'string' }

const reserved = /^(response_(type|mode)|client_id|redirect_uri|scope|state|code_challenge(_method)?|request(_uri)?)$/

/**
 * Builds the authorize URL with a fresh state and S256 challenge, for public and confidential clients alike, and the
 * PendingLogin to keep until the callback. Rejects with `insecure_context` where Web Crypto is missing and with
 * `config_invalid` for reserved `params` or a weak `state`. Specification section 5.2, RFC 7636 section 4.
 */
export async function startLogin(
  config: AuthConfig,
  options: StartLoginOptions = {},
): Promise<{ url: URL; pending: PendingLogin }> {
  checkConfig('startLogin', config)
  checkOptions('startLogin', options, optionKinds)
  const { returnTo, params = {}, state = generateState() } = options
  const { clientId, redirectUri, scope, issuer, issuerParameter, tokenEndpoint, clock } = config
  if (!/^[\w.~-]{22,512}$/.test(state) || /^[\da-f]{8}(-[\da-f]{4}){3}-/i.test(state))
    invalid('state must be 22 to 512 random unreserved characters, and no UUID')
  requireWebCrypto()
  const codeVerifier = randomText()
  const url = new URL(config.authorizationEndpoint)
  const query = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    scope,
    state,
    code_challenge: await s256(codeVerifier),
    code_challenge_method: 'S256',
  }
  if (Object(params) !== params) invalid('params must be an object of texts')
  for (const [name, value] of Object.entries(params)) {
    if (reserved.test(name)) invalid(`params cannot set ${name}`)
    if (typeof value !== 'string') invalid('params must be an object of strings')
  }
  for (const [name, value] of Object.entries({ ...params, ...query })) url.searchParams.set(name, value)
  const pending = present<PendingLogin>({
    v: 1,
    state,
    codeVerifier,
    clientId,
    redirectUri,
    tokenEndpoint,
    issuer,
    issuerParameter,
    returnTo: returnTo === undefined ? returnTo : localPath(returnTo, redirectUri),
    createdAtMs: clock.wallMs(),
  })
  return { url, pending: redacted(pending, 'PendingLogin') }
}

/** RFC 7636 section 4.2. Under jsdom the digest is of another realm than `Uint8Array`. */
async function s256(codeVerifier: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier))
  return base64url(new Uint8Array(digest))
}

function generateState(): string {
  requireWebCrypto()
  return randomText()
}

/** Throws `insecure_context` where the platform has no Web Crypto, as on pages served over plain http. */
export function requireWebCrypto(): void {
  if (!globalThis.crypto?.subtle?.digest || !crypto.getRandomValues)
    throw new AgentAuthError(
      'insecure_context',
      `Web Crypto is missing${globalThis.location ? ` on ${location.origin}` : ''}: use https or localhost.`,
    )
}

/** Reduces a target to path, query and hash; the reduced path is checked, since the parser turns `/..//e` into `//e`. */
function localPath(target: string, redirectUri: string): string {
  const { origin } = new URL(redirectUri)
  const url = attempt(() => new URL(target, origin))
  // The front page is always a safe place.
  if (url?.origin !== origin || !/^\/(?![/\\])/.test(url.pathname)) return '/'
  return url.pathname + url.search + url.hash
}
