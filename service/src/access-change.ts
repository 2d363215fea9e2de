import * as z from 'zod/mini'
import { problemText, strict } from './issue-text.ts'

/** The permissions of the API. Which endpoint needs which one is this service's decision. */
export const permissionNames = ['api.access', 'parent_agents.read', 'parent_agents.create', 'llm_models.read'] as const

/** The permission to manage the API clients of a tenant on their pages. No endpoint of the API needs it. */
export const clientAdminPermission = 'api_clients.manage'

export type Permission = (typeof permissionNames)[number]

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

const billed = z.optional(z.enum(['needed', 'not-needed']))

/** Whether each endpoint needs active billing. */
export const endpointBilling: z.ZodMiniType<NonNullable<AccessChange['endpointBilling']>> = strict({
  getParentAgentContextVariables: billed,
  searchParentAgents: billed,
  createParentAgent: billed,
  searchLlmModels: billed,
} satisfies Record<EndpointId, typeof billed>) as never

export const accessChange: z.ZodMiniType<AccessChange> = strict({
  billing: z.optional(z.record(z.string(), z.enum(['active', 'inactive']))),
  endpointBilling: z.optional(endpointBilling),
  approval: z.optional(z.record(z.string(), z.enum(['approved', 'unapproved']))),
  surfaces: z.optional(z.record(z.string(), z.array(z.string()))),
  permissions: z.optional(z.record(z.string(), z.array(z.enum([...permissionNames, clientAdminPermission])))),
})

/** Returns a copy of the change. Throws a TypeError for any other value. */
export function readAccessChange(value: unknown): AccessChange {
  const read = accessChange.safeParse(value, { reportInput: true })
  if (!read.success) throw new TypeError(`invalid access: ${problemText(read.error)}`)
  return read.data
}
