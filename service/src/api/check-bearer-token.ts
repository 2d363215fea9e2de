import type { Context } from 'hono'
import type { ServiceContext } from '../context.ts'
import { verifyAccessToken } from '../credentials/access-tokens.ts'
import { hashToken } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { Bearer } from '../store/tables/bearer-tokens.ts'
import { findBearerOfAccessToken, findBearerOfSessionToken } from '../store/tables/bearer-tokens.ts'
import { unauthenticated } from './api-error.ts'

const bearerHeader = /^bearer ([A-Za-z0-9\-._~+/]+=*)$/i

/** Finds the account of the bearer token, or throws 401. Two Authorization headers are joined by a comma, which no token holds (S-062). */
export async function authenticate(c: Context<HttpEnvironment>): Promise<Bearer> {
  const header = c.req.header('authorization')
  if (header === undefined) throw unauthenticated('absent')
  const token = bearerHeader.exec(header)?.[1]
  const bearer = token === undefined ? undefined : await findBearer(c.get('service'), token)
  if (bearer === undefined) throw unauthenticated('invalid')
  c.set('caller', { personId: bearer.personId, tenant: bearer.tenantId })
  if (bearer.client !== undefined) c.set('clientId', bearer.client.id)
  return bearer
}

/** Both kinds of token are looked up by their hash, so that time does not depend on a guess (S-058). */
async function findBearer(service: ServiceContext, token: string): Promise<Bearer | undefined> {
  const { store, clock } = service
  if (token.startsWith('ast_')) return findBearerOfSessionToken(store.db, hashToken(token), clock.nowMs())
  const record = await findBearerOfAccessToken(store.db, hashToken(token), clock.nowMs())
  const claims = record === undefined ? undefined : verifyAccessToken(service, token)
  if (record === undefined || claims === undefined || claims.tenant !== record.tenantId) return undefined
  // A permission counts if the token has it and the account has not lost it since.
  const permissions = record.permissions.filter((permission) => claims.permissions.includes(permission))
  return { ...record, permissions }
}
