import { randomUUID } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import type { ServiceConfig } from '../config.ts'
import type { ServiceClock } from '../state/clock.ts'
import type { Authorization } from '../store/tables/authorizations.ts'
import type { ServiceKeys } from './keys.ts'

/** The claims that a call of the API relies on. */
export interface AccessTokenClaims {
  tenant: string
  permissions: string[]
}

/** The parts of the service that an access token is made from and checked by. */
export interface TokenIssuer {
  readonly config: ServiceConfig
  readonly clock: ServiceClock
  readonly keys: ServiceKeys
}

const secondMs = 1_000

/** Signs an access token (RFC 9068, ES256) with the tenant and the permissions of the user. */
export function signAccessToken(
  { config, clock, keys }: TokenIssuer,
  { authorization, permissions, expiresMs }: { authorization: Authorization; permissions: string[]; expiresMs: number },
): Promise<string> {
  const { clientId, tenantId, scope, personId } = authorization
  return (
    new SignJWT({ client_id: clientId, tenant: tenantId, permissions, scope })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: keys.keyId })
      .setIssuer(config.authUrl)
      .setAudience(config.baseUrl)
      .setSubject(personId)
      .setJti(randomUUID())
      .setIssuedAt(Math.floor(clock.nowMs() / secondMs))
      // Rounded up, because the stored time is exact and decides.
      .setExpirationTime(Math.ceil(expiresMs / secondMs))
      .sign(keys.signingKey)
  )
}

/** Returns the claims of an access token of this service, or undefined for any other text. */
export async function verifyAccessToken(
  { config, clock, keys }: TokenIssuer,
  token: string,
): Promise<AccessTokenClaims | undefined> {
  const { authUrl: issuer, baseUrl: audience } = config
  const checks = {
    issuer,
    audience,
    typ: 'at+jwt',
    algorithms: ['ES256'],
    requiredClaims: ['exp', 'tenant', 'permissions'],
    currentDate: new Date(clock.nowMs()),
  }
  const verified = await jwtVerify<AccessTokenClaims>(token, keys.verifyKey, checks).catch(() => undefined)
  return verified?.payload
}
