import type { ServiceContext } from '../context.ts'
import { keyedHash, randomId, randomSecret } from '../credentials/tokens.ts'
import { refuseRegistration } from '../redirect-uris.ts'
import { insertClients, insertSecrets, type NewSecret } from '../store/clients.ts'
import {
  addServiceKey,
  type Db,
  findServiceKey,
  removeServiceKey,
  replaceServiceKey,
  transact,
} from '../store/database.ts'
import { insertAccounts } from '../store/logins.ts'
import { deleteAllData } from '../store/purge.ts'
import { tenantStore } from '../store/tenant.ts'
import { insertTenants, listTenantIds } from '../store/tenants.ts'
import { firstSecretOf, SeedError, type World, type WorldClient } from './world.ts'

/** What a service needs to fill its database. */
type Filling = Pick<ServiceContext, 'store' | 'clock' | 'keys' | 'passwords'>

export async function isFilled(db: Db): Promise<boolean> {
  return (await listTenantIds(db)).length > 0
}

/** The mark of the demo data. That of a seed is a hash. */
const demoMark = 'demo'

/** Rejects with a SeedError unless the data began as this seed. What was changed since then does not count. */
export async function requireSameSeed({ store, passwords }: Filling, digest: string): Promise<void> {
  const mark = await findServiceKey(store.db, 'seed')
  if (mark !== undefined && mark !== demoMark && (await passwords.verify(digest, mark)) === 'match') return
  throw new SeedError('the database already holds other data; choose an empty one, or start without the seed')
}

/** Rejects with a TypeError if a reset to the demo data would replace data that began as a seed. */
export async function requireDemoData({ store }: Filling): Promise<void> {
  if ((await findServiceKey(store.db, 'seed')) !== demoMark)
    throw new TypeError('these data began with a seed; start the service with that seed to reset them')
}

/**
 * Fills an empty database, all or nothing. `replace` empties it in the same transaction. If several processes start at
 * the same time, one fills it. The others wait for it and return `filled before`.
 */
export async function fillDatabase(
  service: Filling,
  world: World,
  mode: 'if-empty' | 'replace',
): Promise<'filled' | 'filled before'> {
  const { passwords, store } = service
  // A password hash, because the digest of a seed would make guesses at its passwords quick.
  const mark = world.digest === undefined ? demoMark : await passwords.hash(world.digest)
  const people = await Promise.all(
    world.people.map(async ({ password = '', passwordHash, tenant, ...account }) => {
      return { ...account, tenantId: tenant, passwordHash: passwordHash ?? (await passwords.hash(password)) }
    }),
  )
  const fill = async (tx: Db): Promise<'filled' | 'filled before'> => {
    if (mode === 'replace') {
      await store.lockForReset(tx)
      // Authorization requests that sign-in pages carry are void from now on.
      await replaceServiceKey(tx, 'reset', randomSecret())
      await deleteAllData(tx)
      await removeServiceKey(tx, 'seed')
    }
    if ((await addServiceKey(tx, 'seed', mark)) === 'present') return 'filled before'
    await fillTenants(tx, world, store.continueIds)
    await insertAccounts(tx, people)
    await fillClients(service, tx, world)
    if (world.hashKey !== undefined) await replaceServiceKey(tx, 'hash', world.hashKey)
    await replaceServiceKey(tx, 'endpoint-billing', JSON.stringify(world.endpointBilling ?? {}))
    return 'filled'
  }
  return transact(store.db, fill, 'after-lock-timeout')
}

async function fillTenants(tx: Db, world: World, continueIds: Filling['store']['continueIds']): Promise<void> {
  await insertTenants(tx, world.tenants)
  for (const { id: tenantId } of world.tenants) {
    const { models, agents, contextGroups } = tenantStore(tx, tenantId)
    const own = world.agents.filter(({ tenant }) => tenant === tenantId)
    await models.createAll(
      world.models.filter(({ tenant }) => tenant === tenantId).map(({ id, model }) => ({ ...model, id })),
    )
    const ids = await agents.createAll(own.map(({ id, agent }) => ({ ...agent, id })))
    if (ids.length < own.length) throw new Error('two agents of a tenant have one key')
    await contextGroups.create(own.map(({ id, groups }) => ({ agentId: id, groups })))
  }
  await continueIds(tx)
}

async function fillClients(service: Filling, tx: Db, { clients, digest }: World): Promise<void> {
  const problem = clients.map(({ redirectUris }) => refuseRegistration(redirectUris)).find((text) => text !== undefined)
  if (problem !== undefined) throw new TypeError(problem)
  await insertClients(
    tx,
    clients.map((client) => ({ ...client, id: client.clientId, tenantId: client.tenant })),
  )
  const origin = digest === undefined ? 'new' : 'seed'
  await insertSecrets(
    tx,
    clients.flatMap((client) => secretsOf(service, client, origin)),
  )
}

function secretsOf(
  { keys, clock }: Filling,
  { clientId, clientSecret, secrets }: WorldClient,
  origin: 'new' | 'seed',
): NewSecret[] {
  const known = secrets.map((secret) => ({ ...secret, clientId }))
  if (clientSecret === undefined) return known
  const first = origin === 'seed' ? firstSecretOf(clientId) : { id: randomId('secret'), createdMs: clock.nowMs() }
  return [{ ...first, clientId, hash: keyedHash(keys.hashKey, clientSecret) }, ...known]
}
