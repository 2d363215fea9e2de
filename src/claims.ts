import { decodeJwt } from 'jose/jwt/decode'
import { attempt, ownMembers, present } from './internal/values.ts'

/** What an access token says about its user. Fit for display, never for a decision about access: it is not verified. */
export interface TokenClaims {
  /** The claim `sub`, if it is text. RFC 7519 section 4.1.2. */
  readonly subject?: string
  /** The claim `tenant`, if it is text. */
  readonly tenant?: string
  /** The claim `permissions`, if it is a list of texts. */
  readonly permissions?: readonly string[]
  /** All claims as they are. */
  readonly claims: Readonly<Record<string, unknown>>
}

/**
 * Returns the claims of an access token that is a signed JWT, without verifying it, and undefined for any other token. The
 * specification says that a token carries tenant and permissions, and does not show how: another service may use other
 * claims, or tokens that say nothing. RFC 7519, specification section 5.
 */
export function readClaims({ accessToken }: { readonly accessToken: string }): TokenClaims | undefined {
  const claims = attempt(() => ownMembers(decodeJwt<Record<string, unknown>>(accessToken)))
  if (!claims) return undefined
  const { sub, tenant, permissions } = claims
  return present<TokenClaims>({
    subject: textOf(sub),
    tenant: textOf(tenant),
    permissions:
      Array.isArray(permissions) && permissions.every((each) => typeof each === 'string') ? permissions : undefined,
    claims,
  })
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
