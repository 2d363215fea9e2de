import { randomUUID, sign, verify } from 'node:crypto'
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

/**
 * Signs an access token (RFC 9068, ES256) with the tenant and the permissions of the user (spec 5, sentence 2). token/issue-tokens.ts
 * decides how long it lives. It signs synchronously, because Web Crypto takes about twice the processor time for the way to another
 * thread and back.
 */
export function signAccessToken(
  { config, clock, keys }: TokenIssuer,
  { authorization, permissions, expiresMs }: { authorization: Authorization; permissions: string[]; expiresMs: number },
): string {
  const header = { alg: 'ES256', typ: 'at+jwt', kid: keys.keyId }
  const claims = {
    client_id: authorization.clientId,
    tenant: authorization.tenantId,
    permissions,
    scope: authorization.scope,
    iss: config.authUrl,
    aud: config.baseUrl,
    sub: authorization.personId,
    jti: randomUUID(),
    iat: Math.floor(clock.nowMs() / secondMs),
    // Rounded up, because the stored time is exact and decides.
    exp: Math.ceil(expiresMs / secondMs),
  }
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign('sha256', Buffer.from(signed), { key: keys.signingKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

/**
 * Returns the claims of an access token of this service, or undefined for any other text. It verifies synchronously,
 * because in Node's thread pool it would wait behind the password hashes of other users.
 */
export function verifyAccessToken({ config, clock, keys }: TokenIssuer, token: string): AccessTokenClaims | undefined {
  const [head = '', body = '', signature = '', ...rest] = token.split('.')
  const key = { key: keys.verifyKey, dsaEncoding: 'ieee-p1363' } as const
  const signed = Buffer.from(`${head}.${body}`)
  if (rest.length > 0 || !verify('sha256', signed, key, Buffer.from(signature, 'base64url'))) return undefined
  // The signature is verified as ES256 without reading the header, and before any of the text is parsed.
  const [header, claims] = [head, body].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8')))
  if (header.typ !== 'at+jwt') return undefined
  if (claims.iss !== config.authUrl || claims.aud !== config.baseUrl) return undefined
  const isLive = typeof claims.exp === 'number' && claims.exp * secondMs > clock.nowMs()
  if (!isLive || typeof claims.tenant !== 'string' || !Array.isArray(claims.permissions)) return undefined
  return { tenant: claims.tenant, permissions: claims.permissions }
}
