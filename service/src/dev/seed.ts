import { refuseRegistration } from '../auth/redirect-uris.ts'
import { keyedHash, randomId } from '../auth/secrets.ts'
import type { ServiceContext } from '../context.ts'
import { clientRegistryOf } from '../store/client-registry.ts'
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
    for (const client of world.clients) await seedClient(service, tx, client)
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

async function seedClient({ keys, clock }: ServiceContext, tx: Db, client: DemoClient): Promise<void> {
  const problem = refuseRegistration(client.redirectUris)
  if (problem !== undefined) throw new TypeError(problem)
  const { clientId, tenant, clientSecret } = client
  const registry = clientRegistryOf(tx, tenant)
  await registry.create({ ...client, id: clientId })
  if (clientSecret === undefined) return
  await registry.addSecret(clientId, {
    id: randomId('secret'),
    hash: keyedHash(keys.hashKey, clientSecret),
    createdMs: clock.nowMs(),
  })
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
