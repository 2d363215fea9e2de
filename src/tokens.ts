import { attempt } from './internal/attempt.ts'
import { present } from './internal/present.ts'
import { redacted } from './internal/redacted.ts'

/** What the token endpoint granted: plain and serialisable, redacted when printed in Node. Times are epoch milliseconds. */
export interface Tokens {
  /** What a bearer fetch sends. RFC 6750. */
  readonly accessToken: string
  /** What a refresh sends. Absent if the service granted none. */
  readonly refreshToken?: string
  /** Absent when the lifetime is unknown; then only a 401 tells. */
  readonly expiresAtMs?: number
  /** When the token request was sent. */
  readonly obtainedAtMs: number
  /** What was granted, if the service said so. */
  readonly scope?: string
}

const tenYearsS = 315_360_000

/** Whether text can stand behind `Bearer ` in a header. RFC 6750 section 2.1, RFC 9110 section 5.5. */
export function isTokenText(value: unknown): value is string {
  return typeof value === 'string' && /^[!-~]{1,16384}$/.test(value)
}

/** Tells whether a token response holds an access token that is sent as `Bearer`. RFC 6749 sections 5.1 and 7.1. */
export function hasBearerToken({ access_token: token, token_type: type }: Record<string, unknown>): boolean {
  return isTokenText(token) && (type == null || (typeof type === 'string' && type.toLowerCase() === 'bearer'))
}

/**
 * Reads a response that `hasBearerToken` has accepted: the members that the specification and RFC 6749 section 5.1 name. If
 * a refresh leaves out the refresh token or the scope, those of `previous` stay.
 */
export function tokensFromResponse(
  body: Record<string, unknown>,
  obtainedAtMs: number,
  previous: Partial<Tokens> = {},
): Tokens {
  const { refresh_token: refreshToken, scope } = body
  const accessToken = String(body.access_token)
  const lifeMs = lifetimeMs(body.expires_in) ?? jwtLifetimeMs(accessToken, obtainedAtMs)
  return createTokens({
    accessToken,
    refreshToken: text(refreshToken) ?? previous.refreshToken,
    expiresAtMs: lifeMs && obtainedAtMs + lifeMs,
    obtainedAtMs,
    scope: text(scope, 16_384) ?? previous.scope,
  })
}

/** Makes a Tokens value without absent members. */
export function createTokens(members: { [K in keyof Tokens]: Tokens[K] | undefined }): Tokens {
  return redacted(present<Tokens>(members), 'Tokens')
}

/** The whole life of the access token in milliseconds, or undefined when unknown. */
export function lifeOf({ expiresAtMs, obtainedAtMs }: Tokens): number | undefined {
  return expiresAtMs === undefined ? undefined : Math.max(0, expiresAtMs - obtainedAtMs)
}

function text(value: unknown, maxLength = Number.POSITIVE_INFINITY): string | undefined {
  return typeof value === 'string' && value.length <= maxLength && value ? value : undefined
}

function lifetimeMs(expiresIn: unknown): number | undefined {
  const numeric = typeof expiresIn === 'string' && /^\d+(\.\d+)?$/.test(expiresIn)
  const seconds = numeric ? Number(expiresIn) : expiresIn
  return typeof seconds === 'number' && seconds > 0 && seconds <= tenYearsS ? Math.ceil(seconds * 1000) : undefined
}

/** For timing only, never for trust: the difference of the issuer's own stamps does not depend on our clock. */
function jwtLifetimeMs(accessToken: string, nowMs: number): number | undefined {
  return attempt(() => {
    const [, claims = '', ...rest] = accessToken.split('.')
    if (rest.length !== 1) return undefined
    // Bytes read as Latin-1 are the same JSON as far as numbers go.
    const { exp, iat = nowMs / 1000 } = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')))
    return lifetimeMs(exp - iat)
  })
}
