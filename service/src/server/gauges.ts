import type { ServiceContext } from '../context.ts'

/** Adds the figures of password hashing and, on PostgreSQL, of the pool of connections to the metrics. */
export function addGauges(
  { metrics }: ServiceContext['telemetry'],
  { passwords, store }: Pick<ServiceContext, 'passwords' | 'store'>,
): void {
  metrics?.gauge({
    name: 'agent_service_password_hashes',
    help: 'Slow password hashes that run or wait.',
    label: 'state',
    read: () => ({ ...passwords.load() }),
  })
  if (store.connections() === undefined) return
  metrics?.gauge({
    name: 'agent_service_database_connections',
    help: 'Connections to PostgreSQL in use and idle, and queries that wait for one.',
    label: 'state',
    read: () => ({ ...store.connections() }),
  })
}
