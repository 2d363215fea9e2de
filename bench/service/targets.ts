/**
 * What agent-service is held to beside peers that keep their state in memory, while it commits to a database. They are
 * what durable work reaches, so that a change that costs a tenth is seen.
 */
export const targets = {
  /** Of the start of oauth2-mock-server, at most. */
  start: 0.6,
  /** Of the rates of oidc-provider, at least. */
  logins: 1.5,
  'logins of new browsers': 1.5,
  refreshes: 0.9,
  /** Processor time of a start that loads 10,000 agents, at most. */
  seedMs: 2_000,
} as const
