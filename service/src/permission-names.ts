/** The permissions of the API. Which endpoint needs which one is this service's decision. */
export const permissionNames = ['api.access', 'parent_agents.read', 'parent_agents.create', 'llm_models.read'] as const

/** The permission to manage the API clients of a tenant on their pages. No endpoint of the API needs it. */
export const clientAdminPermission = 'api_clients.manage'

export type Permission = (typeof permissionNames)[number]
