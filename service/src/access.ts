import type { Permission } from './permissions.ts'
import { clientAdminPermission, permissionNames } from './permissions.ts'
import type { Check } from './shape.ts'
import { isRecord, isText, object, oneOf, optional } from './shape.ts'

/** The endpoints of the API, by the operation ids of its OpenAPI document. */
export const endpointIds = [
  'getParentAgentContextVariables',
  'searchParentAgents',
  'createParentAgent',
  'searchLlmModels',
] as const
/** The names of the API endpoints that take a permission. */
export type EndpointId = (typeof endpointIds)[number]

/** Changes which requests of the API get 403. A member that is absent changes nothing. */
export interface AccessChange {
  /** Billing of tenants, by id. */
  billing?: Record<string, 'active' | 'inactive'> | undefined
  /** Whether endpoints need active billing. Default: `createParentAgent` alone does. */
  endpointBilling?: Partial<Record<EndpointId, 'needed' | 'not-needed'>> | undefined
  /** Approval of clients for their tenant, by name or client id. */
  approval?: Record<string, 'approved' | 'unapproved'> | undefined
  /** Surfaces of clients, by name or client id. The API is open to clients with `api`. */
  surfaces?: Record<string, string[]> | undefined
  /** All permissions of people, by email address. A token never has more than when it was issued. */
  permissions?: Record<string, (Permission | typeof clientAdminPermission)[]> | undefined
}

const isChange = object({
  billing: optional(recordOf(oneOf('active', 'inactive'))),
  endpointBilling: optional(
    object(Object.fromEntries(endpointIds.map((id) => [id, optional(oneOf('needed', 'not-needed'))]))),
  ),
  approval: optional(recordOf(oneOf('approved', 'unapproved'))),
  surfaces: optional(recordOf(listOf(isText))),
  permissions: optional(recordOf(listOf(oneOf(...permissionNames, clientAdminPermission)))),
})

/** Returns a copy of the change. Throws a TypeError for any other value, because a misspelt member would change nothing. */
export function readAccessChange(value: unknown): AccessChange {
  if (!isChange(value)) throw new TypeError('invalid access; see the type AccessChange for the allowed members')
  return structuredClone(value) as AccessChange
}

function recordOf(check: Check): Check {
  return (value) => isRecord(value) && Object.values(value).every(check)
}

function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check)
}
