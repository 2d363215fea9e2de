import { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } from 'oauth4webapi'
import type { AuthConfig } from './config.ts'
import { AgentAuthError } from './errors.ts'
import { checkNames, invalid, present, redacted } from './internal/values.ts'
import { sameOriginPath } from './return-url.ts'

/** A login whose callback has not come: plain and serialisable. Store it where only this user's browser or session can read it. */
export interface PendingLogin {
  readonly v: 1
  /** The `state` of the authorize URL. */
  readonly state: string
  /** The PKCE verifier, 32 random bytes of Web Crypto as 43 characters of base64url: a secret until the exchange. RFC 7636 section 4.1. */
  readonly codeVerifier: string
  /** The client that started the login. */
  readonly clientId: string
  /** The redirect URI as sent. */
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

/** The length of a `state` in characters: 22 hold 128 random bits, and 512 fit every server and every cookie. */
const minStateLength = 22
const maxStateLength = 512

/** The options of `startLogin`. */
export interface StartLoginOptions {
  /** The return URL after the login. Default: none. A URL of another origin than the redirect URI becomes `/`. */
  readonly returnTo?: string | undefined
  /** Further authorize parameters. Those of the protocol cannot be set. A service ignores parameters that it does not know. */
  readonly params?: Readonly<Record<string, string>> | undefined
  /** A state of your own: 22 to 512 unreserved characters with at least 128 random bits. Default: 256 random bits. */
  readonly state?: string | undefined
}

/** Parameters that would change the protocol. Those that `startLogin` sends itself are reserved too. */
const reserved: readonly string[] = ['response_mode', 'request', 'request_uri']

/**
 * Creates the authorize URL, with a new state and S256 challenge, and the PendingLogin to store until the callback. Rejects with
 * `insecure_context` if Web Crypto is missing, and with `config_invalid` for reserved `params` or a weak `state`. Specification section
 * 5.2, RFC 7636 section 4.
 */
export async function startLogin(
  config: AuthConfig,
  options: StartLoginOptions = {},
): Promise<{ url: URL; pending: PendingLogin }> {
  return createLogin(config, checkNames('startLogin', options, ['returnTo', 'params', 'state']))
}

/** Does the work of `startLogin` for callers that have checked the options. */
export async function createLogin(
  config: AuthConfig,
  options: StartLoginOptions,
): Promise<{ url: URL; pending: PendingLogin }> {
  requireWebCrypto()
  const { returnTo, params, state = generateRandomState() } = options
  const { clientId, redirectUri, scope, issuer, issuerParameter, tokenEndpoint, clock } = config
  if (!isState(state)) invalid(`state must be ${minStateLength} to ${maxStateLength} random unreserved characters`)
  const codeVerifier = generateRandomCodeVerifier()
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
  for (const name of Object.keys({ ...params }))
    if (Object.hasOwn(query, name) || reserved.includes(name)) invalid(`params cannot set ${name}`)
  url.search = `${new URLSearchParams(present({ ...params, ...query }))}`
  const pending = present<PendingLogin>({
    v: 1,
    state,
    codeVerifier,
    clientId,
    redirectUri,
    tokenEndpoint,
    issuer,
    issuerParameter,
    returnTo: returnTo === undefined ? returnTo : sameOriginPath(returnTo, redirectUri),
    createdAtMs: clock.wallMs(),
  })
  return { url, pending: redacted(pending, 'PendingLogin') }
}

/**
 * Returns whether a text can be a `state`: unreserved characters, which every server and storage keeps as they are, of a length within the
 * limits.
 */
export function isState(text: string): boolean {
  return /^[\w.~-]*$/.test(text) && text.length >= minStateLength && text.length <= maxStateLength
}

/** Returns the challenge, RFC 7636 section 4.2. oauth4webapi cannot read the digest under jsdom, where it is of another realm. */
function s256(codeVerifier: string): Promise<string> {
  return calculatePKCECodeChallenge(codeVerifier).catch(async () => {
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(codeVerifier))
    const text = btoa(String.fromCharCode(...new Uint8Array(digest)))
    return text.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
  })
}

/** Throws `insecure_context` if the platform has no Web Crypto, as on pages served over plain http. */
export function requireWebCrypto(): void {
  if (!globalThis.crypto?.subtle?.digest || !crypto.getRandomValues)
    throw new AgentAuthError('insecure_context', 'Web Crypto is missing. Use https or localhost.')
}
