import type { ServiceContext } from '../context.ts'
import { keyedHash, randomId, randomSecret } from '../credentials/secrets.ts'
import { refuseRegistration } from '../redirect-uris.ts'
import { transact } from '../store/engine/transact.ts'
import type { Db } from '../store/store.ts'
import { clientRegistryOf } from '../store/tables/client-registry.ts'
import { replaceServiceKey } from '../store/tables/service-keys.ts'
import { seedAgents } from './demo-agents.ts'
import type { DemoClient, DemoPerson, DemoWorld } from './demo-world.ts'

export async function isSeeded(db: Db): Promise<boolean> {
  return (await db.selectFrom('tenants').select('id').limit(1).execute()).length > 0
}

/**
 * Fills an empty database, all or nothing; `anew` empties it in the same step. Of several processes that start at once
 * one fills it: the others wait for that and find it `filled before`.
 */
export async function seed(
  service: ServiceContext,
  world: DemoWorld,
  mode: 'if-empty' | 'anew',
): Promise<'filled' | 'filled before'> {
  const hashed = await Promise.all(
    world.people.map(async (person) => ({ ...person, hash: await service.passwords.hash(person.password) })),
  )
  return transact(service.store.db, async (tx) => {
    if (mode === 'anew') {
      await service.store.lockEverything(tx)
      await empty(tx)
    }
    if (!(await takeTenants(tx, world))) return 'filled before'
    for (const { id } of world.tenants) await seedAgents(tx, { tenant: id, nowMs: service.clock.nowMs() })
    for (const [position, person] of hashed.entries()) await seedPerson(tx, person, position)
    for (const client of world.clients) await seedClient(service, tx, client)
    return 'filled'
  })
}

/** Waits for a process that is inserting the same tenants, and then inserts none. */
async function takeTenants(tx: Db, { tenants }: DemoWorld): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto('tenants')
    .values(tenants.map(({ id, name }) => ({ id, name, active: 1 as const, billing_active: 1 as const })))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === BigInt(tenants.length)
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
  'registry_events',
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

/** Empties everything but the service's own keys. Requests that sign-in pages carry from before are void. */
async function empty(tx: Db): Promise<void> {
  await replaceServiceKey(tx, 'reset', randomSecret())
  for (const table of everyTable) await tx.deleteFrom(table).execute()
}
