import type { BearerRecord } from '../store/access-tokens.ts'
import { includesApi } from '../store/clients.ts'
import { forbidden } from './api-error.ts'

/** Which permission an endpoint needs is not shown; these names are ours. */
export const permissionNames = ['api.access', 'parent_agents.read', 'parent_agents.create', 'llm_models.read'] as const

/** Who may manage the tenant's API clients on their pages. No endpoint of the API needs it. */
export const clientAdminPermission = 'api_clients.manage'

export type Permission = (typeof permissionNames)[number]

export interface EndpointNeeds {
  permission: Permission
  /** Endpoints that change something need a tenant whose billing is active. */
  billing: 'needed' | 'not-needed'
}

/** Client approval first, then permissions, so that a caller learns nothing it may not act on (S-063). */
export function checkPermission(bearer: BearerRecord, needs: EndpointNeeds): void {
  const { client } = bearer
  if (client !== undefined && !(client.active && client.approved && includesApi(client.surfaces))) {
    throw forbidden('OAuth client is not approved for this API')
  }
  const isBilled = needs.billing === 'not-needed' || bearer.billing === 'active'
  const has = (permission: Permission): boolean => bearer.permissions.includes(permission)
  if (!has('api.access') || !has(needs.permission) || !isBilled) throw forbidden('missing permission')
}
