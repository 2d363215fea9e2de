import { readClaims } from './claims.ts'
import { ownMembers, present, redacted } from './internal/values.ts'

/** The longest token that is used, in characters, because servers limit the size of a header. */
const maxTokenLength = 16_384
/** The longest lifetime that counts, in seconds: ten years. A longer one is a mistake, and the lifetime counts as unknown. */
const maxLifetimeS = 315_360_000

/** The content of a token response: plain and serialisable, redacted when printed in Node. Times are epoch milliseconds. */
export interface Tokens {
  /** The token of a bearer fetch. RFC 6750. */
  readonly accessToken: string
  /** The token of a refresh. Absent if the service granted none. */
  readonly refreshToken?: string
  /** When the access token expires. Absent if its lifetime is unknown; then only a 401 says that it expired. */
  readonly expiresAtMs?: number
  /** When the token request was sent. */
  readonly obtainedAtMs: number
  /** The granted scope, if the service named it. */
  readonly scope?: string
}

/** Returns whether a header can have this token after `Bearer `: visible ASCII. RFC 6750 section 2.1, RFC 9110 section 5.5. */
export function isTokenText(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]+$/.test(value) && value.length <= maxTokenLength
}

/** Returns whether a token response holds an access token that is sent as `Bearer`. RFC 6749 sections 5.1 and 7.1. */
export function hasBearerToken({ access_token: token, token_type: type }: Record<string, unknown>): boolean {
  return isTokenText(token) && (type == null || (typeof type === 'string' && type.toLowerCase() === 'bearer'))
}

/**
 * Reads a response that `hasBearerToken` has accepted: the members that the specification and RFC 6749 section 5.1 name. If
 * a refresh leaves out the refresh token or the scope, those of `previous` stay.
 * An `expires_in` that is missing, 0 or too long gives way to the `exp` and `iat` of a JWT, and without those the lifetime is unknown.
 */
export function tokensFromResponse(
  body: Record<string, unknown>,
  obtainedAtMs: number,
  previous?: Partial<Tokens>,
): Tokens {
  const kept = ownMembers(previous)
  const { refresh_token: refreshToken, scope } = body
  const accessToken = String(body.access_token)
  const lifeMs = lifetimeMs(body.expires_in) ?? jwtLifetimeMs(accessToken, obtainedAtMs)
  return createTokens({
    accessToken,
    refreshToken: text(refreshToken) ?? kept.refreshToken,
    expiresAtMs: lifeMs && obtainedAtMs + lifeMs,
    obtainedAtMs,
    scope: text(scope) ?? kept.scope,
  })
}

/** Creates a Tokens value without absent members. */
export function createTokens(members: { [K in keyof Tokens]: Tokens[K] | undefined }): Tokens {
  return redacted(present<Tokens>(members), 'Tokens')
}

/** Returns the whole life of the access token in milliseconds, or undefined if it is unknown. */
export function lifeOf({ expiresAtMs, obtainedAtMs }: Tokens): number | undefined {
  return expiresAtMs === undefined ? undefined : Math.max(0, expiresAtMs - obtainedAtMs)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value ? value : undefined
}

function lifetimeMs(expiresIn: unknown): number | undefined {
  const numeric = typeof expiresIn === 'string' && /^\d+(\.\d+)?$/.test(expiresIn)
  const seconds = numeric ? Number(expiresIn) : expiresIn
  return typeof seconds === 'number' && seconds > 0 && seconds <= maxLifetimeS ? Math.ceil(seconds * 1000) : undefined
}

/** Returns the lifetime in a JWT, for timing and not for trust. The difference of the issuer's own stamps needs no clock. */
function jwtLifetimeMs(accessToken: string, nowMs: number): number | undefined {
  const { exp, iat = nowMs / 1000 } = readClaims({ accessToken })?.claims ?? {}
  return lifetimeMs(Number(exp) - Number(iat))
}
