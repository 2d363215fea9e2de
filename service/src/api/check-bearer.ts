import type { Context } from 'hono'
import type { ServiceContext } from '../context.ts'
import { verifyAccessToken } from '../credentials/access-tokens.ts'
import { hashToken } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { Permission } from '../permission-names.ts'
import type { Bearer } from '../store/tables/bearer-tokens.ts'
import { findBearerOfAccessToken, findBearerOfSessionToken } from '../store/tables/bearer-tokens.ts'
import { forbidden, unauthenticated, unbilled } from './envelope.ts'

const bearerHeader = /^bearer ([A-Za-z0-9\-._~+/]+=*)$/i

/**
 * Finds the account of the bearer token (401), whose client must be approved and which must have `api.access` (403). Two Authorization
 * headers are joined by a comma, which no token holds.
 */
export async function authenticate(c: Context<HttpEnvironment>): Promise<Bearer> {
  const header = c.req.header('authorization')
  if (header === undefined) throw unauthenticated('absent')
  const token = bearerHeader.exec(header)?.[1]
  const bearer = token === undefined ? undefined : await findBearer(c.get('service'), token)
  if (bearer === undefined) throw unauthenticated('invalid')
  c.set('caller', { personId: bearer.personId, tenant: bearer.tenantId })
  if (bearer.client !== undefined) c.set('clientId', bearer.client.id)
  if (bearer.client !== undefined && bearer.client.approval !== 'approved') {
    throw forbidden('OAuth client is not approved for this API')
  }
  if (!bearer.permissions.includes('api.access')) throw forbidden('missing permission')
  return bearer
}

/** Both kinds of token are looked up by their hash, so that time does not depend on a guess. */
async function findBearer(service: ServiceContext, token: string): Promise<Bearer | undefined> {
  const { store, clock } = service
  if (token.startsWith('ast_')) return findBearerOfSessionToken(store.db, hashToken(token), clock.nowMs())
  const record = await findBearerOfAccessToken(store.db, hashToken(token), clock.nowMs())
  const claims = record === undefined ? undefined : await verifyAccessToken(service, token)
  if (record === undefined || claims === undefined || claims.tenant !== record.tenantId) return undefined
  // A permission counts if the token has it and the account has not lost it since.
  const permissions = record.permissions.filter((permission) => claims.permissions.includes(permission))
  return { ...record, permissions }
}

/** What an endpoint needs besides `api.access`. */
export interface EndpointNeeds {
  permission: Permission
  /** Endpoints that change something need a tenant whose billing is active. */
  billing: 'needed' | 'not-needed'
}

/** Checks the permission and then the billing that one endpoint needs. */
export function checkPermission({ billing, permissions }: Bearer, needs: EndpointNeeds): void {
  if (!permissions.includes(needs.permission)) throw forbidden('missing permission')
  if (needs.billing === 'needed' && billing !== 'active') throw unbilled()
}
