import type { ServiceContext } from '../context.ts'
import { keyedHash, randomId, randomSecret } from '../credentials/secrets.ts'
import { refuseRegistration } from '../redirect-uris.ts'
import { deleteAllData } from '../store/delete-all-data.ts'
import { transact } from '../store/engine/transact.ts'
import type { Db } from '../store/store.ts'
import { saveAccount } from '../store/tables/accounts.ts'
import { replaceServiceKey } from '../store/tables/service-keys.ts'
import { insertTenants, listTenantIds } from '../store/tables/tenants.ts'
import { tenantStore } from '../store/tenant-store.ts'
import { seedAgents } from './demo-agents.ts'
import type { DemoClient, DemoWorld } from './demo-world.ts'

export async function isSeeded(db: Db): Promise<boolean> {
  return (await listTenantIds(db)).length > 0
}

/**
 * Fills an empty database, all or nothing. `replace` empties it in the same transaction. If several processes start at
 * the same time, one fills it. The others wait for it and return `filled before`.
 */
export async function seed(
  service: ServiceContext,
  world: DemoWorld,
  mode: 'if-empty' | 'replace',
): Promise<'filled' | 'filled before'> {
  const hashed = await Promise.all(
    world.people.map(async ({ password, tenant, ...account }) => {
      return { ...account, tenantId: tenant, passwordHash: await service.passwords.hash(password) }
    }),
  )
  const fill = async (tx: Db): Promise<'filled' | 'filled before'> => {
    if (mode === 'replace') {
      await service.store.lockParentRows(tx)
      // Authorization requests that sign-in pages carry are void from now on.
      await replaceServiceKey(tx, 'reset', randomSecret())
      await deleteAllData(tx)
    }
    if ((await insertTenants(tx, world.tenants)) === 'present') return 'filled before'
    for (const { id } of world.tenants) await seedAgents(tenantStore(tx, id), service.clock.nowMs())
    for (const [position, account] of hashed.entries()) await saveAccount(tx, account, position)
    for (const client of world.clients) await seedClient(service, tx, client)
    return 'filled'
  }
  return transact(service.store.db, fill, 'after-lock-timeout')
}

async function seedClient({ keys, clock }: ServiceContext, tx: Db, client: DemoClient): Promise<void> {
  const problem = refuseRegistration(client.redirectUris)
  if (problem !== undefined) throw new TypeError(problem)
  const { clientId, tenant, clientSecret } = client
  const registry = tenantStore(tx, tenant).clients
  const created = await registry.create({ ...client, id: clientId })
  if (clientSecret === undefined) return
  await registry.addSecret(created, {
    id: randomId('secret'),
    hash: keyedHash(keys.hashKey, clientSecret),
    createdMs: clock.nowMs(),
  })
}
