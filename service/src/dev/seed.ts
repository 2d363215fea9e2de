import { refuseRegistration } from '../auth/redirect-uris.ts'
import { keyedHash, randomId } from '../auth/secrets.ts'
import type { ServiceContext } from '../context.ts'
import type { Db } from '../store/store.ts'
import { seedAgents } from './demo-agents.ts'
import type { DemoClient, DemoPerson, DemoWorld } from './demo-world.ts'

export async function isSeeded(db: Db): Promise<boolean> {
  return (await db.selectFrom('tenants').select('id').limit(1).execute()).length > 0
}

/** Fills an empty database, all or nothing. */
export async function seed(service: ServiceContext, world: DemoWorld): Promise<void> {
  const hashed = await Promise.all(
    world.people.map(async (person) => ({ ...person, hash: await service.passwords.hash(person.password) })),
  )
  await service.store.db.transaction().execute(async (tx) => {
    for (const { id, name } of world.tenants) {
      await tx.insertInto('tenants').values({ id, name, active: 1, billing_active: 1 }).execute()
      await seedAgents(tx, { tenant: id, nowMs: service.clock.nowMs() })
    }
    for (const [position, person] of hashed.entries()) await seedPerson(tx, person, position)
    for (const [position, client] of world.clients.entries()) await seedClient(service, { tx, client, position })
  })
}

async function seedPerson(tx: Db, person: DemoPerson & { hash: string }, position: number): Promise<void> {
  await tx
    .insertInto('people')
    .values({
      id: person.id,
      tenant_id: person.tenant,
      email: person.email,
      name: person.name,
      password_hash: person.hash,
      permissions: JSON.stringify(person.permissions),
      active: 1,
      position,
    })
    .execute()
}

async function seedClient(
  { keys }: ServiceContext,
  { tx, client, position }: { tx: Db; client: DemoClient; position: number },
): Promise<void> {
  const problem = refuseRegistration(client.redirectUris)
  if (problem !== undefined) throw new TypeError(problem)
  const { clientId, tenant, name, kind, clientSecret } = client
  await tx.insertInto('clients').values({ id: clientId, tenant_id: tenant, name, kind, active: 1, position }).execute()
  const uris = client.redirectUris.map((uri, index) => ({ client_id: clientId, redirect_uri: uri, position: index }))
  await tx.insertInto('client_redirect_uris').values(uris).execute()
  const surfaces = JSON.stringify(['api'])
  await tx
    .insertInto('client_approvals')
    .values({ client_id: clientId, tenant_id: tenant, active: 1, surfaces })
    .execute()
  if (clientSecret === undefined) return
  const secret_hash = keyedHash(keys.hashKey, clientSecret)
  await tx
    .insertInto('client_secrets')
    .values({ id: randomId('secret'), client_id: clientId, secret_hash, retired_ms: null })
    .execute()
}

// Children before parents.
const everyTable = [
  'context_groups',
  'parent_agents',
  'llm_models',
  'session_tokens',
  'access_tokens',
  'refresh_tokens',
  'grants',
  'authorization_codes',
  'authorization_requests',
  'sign_in_sessions',
  'client_approvals',
  'client_redirect_uris',
  'client_secrets',
  'clients',
  'people',
  'tenants',
] as const

/** Empties everything but the service's own keys. */
export async function empty(db: Db): Promise<void> {
  await db.transaction().execute(async (tx) => {
    for (const table of everyTable) await tx.deleteFrom(table).execute()
  })
}
