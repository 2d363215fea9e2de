/** What `agent-service clients` can do. */
export const actions = [
  'create',
  'list',
  'history',
  'activate',
  'deactivate',
  'rotate-secret',
  'retire-secret',
] as const
export type Action = (typeof actions)[number]
