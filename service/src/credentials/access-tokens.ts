import { randomUUID, sign, verify } from 'node:crypto'
import type { ServiceConfig } from '../config.ts'
import type { ServiceClock } from '../state/clock.ts'
import type { Authorization } from '../store/tables/authorizations.ts'
import type { ServiceKeys } from './keys.ts'

/** What a call may rest on besides what is stored. */
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
 * An RFC 9068 access token that carries the user's tenant and permissions (spec 5, sentence 2). Signed here and now:
 * Web Crypto, which jose signs with, takes about twice the processor time, for another thread and back.
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
    // Rounded up: the stored time decides to the millisecond.
    exp: Math.ceil(expiresMs / secondMs),
  }
  const signed = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  const signature = sign('sha256', Buffer.from(signed), { key: keys.signingKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${signature.toString('base64url')}`
}

/**
 * Reads a token of ours; undefined for any other. Checked here and now: what waits for a thread of Node's pool waits
 * behind other people's password hashes.
 */
export function verifyAccessToken({ config, clock, keys }: TokenIssuer, token: string): AccessTokenClaims | undefined {
  const [head = '', body = '', signature = '', ...rest] = token.split('.')
  const key = { key: keys.verifyKey, dsaEncoding: 'ieee-p1363' } as const
  const signed = Buffer.from(`${head}.${body}`)
  if (rest.length > 0 || !verify('sha256', signed, key, Buffer.from(signature, 'base64url'))) return undefined
  // Only after the signature, which is always read as ES256: from here on it is text of a holder of the key.
  const [header, claims] = [head, body].map((part) => JSON.parse(Buffer.from(part, 'base64url').toString('utf8')))
  if (header.typ !== 'at+jwt') return undefined
  if (claims.iss !== config.authUrl || claims.aud !== config.baseUrl) return undefined
  const isLive = typeof claims.exp === 'number' && claims.exp * secondMs > clock.nowMs()
  if (!isLive || typeof claims.tenant !== 'string' || !Array.isArray(claims.permissions)) return undefined
  return { tenant: claims.tenant, permissions: claims.permissions }
}
