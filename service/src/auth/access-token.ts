import { randomUUID } from 'node:crypto'
import { jwtVerify, SignJWT } from 'jose'
import type { ServiceContext } from '../context.ts'
import type { Grant } from '../store/grants.ts'

export interface AccessTokenClaims {
  personId: string
  clientId: string
  tenant: string
  permissions: string[]
}

const secondMs = 1_000

/** An RFC 9068 access token that carries the user's tenant and permissions (spec 5, sentence 2). */
export async function signAccessToken(
  { config, clock, keys }: ServiceContext,
  { grant, permissions, expiresMs }: { grant: Grant; permissions: string[]; expiresMs: number },
): Promise<string> {
  return (
    new SignJWT({ client_id: grant.client_id, tenant: grant.tenant_id, permissions, scope: grant.scope })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: keys.keyId })
      .setIssuer(config.authUrl)
      .setAudience(config.baseUrl)
      .setSubject(grant.person_id)
      .setJti(randomUUID())
      .setIssuedAt(Math.floor(clock.nowMs() / secondMs))
      // Rounded up: the stored time decides to the millisecond.
      .setExpirationTime(Math.ceil(expiresMs / secondMs))
      .sign(keys.signingKey)
  )
}

export async function verifyAccessToken(
  { config, clock, keys }: ServiceContext,
  token: string,
): Promise<AccessTokenClaims | undefined> {
  try {
    const { payload } = await jwtVerify<{ client_id: string; tenant: string; permissions: string[] }>(
      token,
      keys.verifyKey,
      {
        algorithms: ['ES256'],
        typ: 'at+jwt',
        issuer: config.authUrl,
        audience: config.baseUrl,
        currentDate: new Date(clock.nowMs()),
        requiredClaims: ['exp', 'sub', 'client_id', 'tenant', 'permissions'],
      },
    )
    const { sub = '', client_id: clientId, tenant, permissions } = payload
    return { personId: sub, clientId, tenant, permissions }
  } catch {
    return undefined
  }
}
