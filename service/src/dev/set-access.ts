import type { AccessChange, EndpointId } from '../access-change.ts'
import { readAccessChange } from '../access-change.ts'
import type { ServiceContext } from '../context.ts'
import { firstNames } from '../issue-text.ts'
import { transact } from '../store/engine/transact.ts'
import { listAccounts, setPermissions } from '../store/tables/accounts.ts'
import { changeApproval } from '../store/tables/clients.ts'
import { listClients } from '../store/tables/list-clients.ts'
import { findServiceKey } from '../store/tables/service-keys.ts'
import { listTenantIds, setTenantBilling } from '../store/tables/tenants.ts'

/** Applies an access change, all or nothing. Rejects with a TypeError that names the tenant, client or user that is unknown. */
export async function setAccess({ store, endpointBilling }: ServiceContext, value: AccessChange): Promise<void> {
  const change = readAccessChange(value)
  if (Object.keys(change).length === 0) return
  await transact(store.db, async (tx) => {
    for (const [id, billing] of entries(change.billing)) {
      if ((await setTenantBilling(tx, id, billing)) === 'unknown') throw unknown('tenant', id, await listTenantIds(tx))
    }
    const changes = [
      ...entries(change.approval).map(([name, approval]) => [name, { approval }] as const),
      ...entries(change.surfaces).map(([name, surfaces]) => [name, { surfaces }] as const),
    ]
    for (const [name, wanted] of changes) {
      const names = async () => (await listClients(tx)).map((client) => client.name)
      if ((await changeApproval(tx, name, wanted)) === 'unknown') throw unknown('client', name, await names())
    }
    for (const [email, permissions] of entries(change.permissions)) {
      const emails = async () => (await listAccounts(tx)).map((person) => person.email)
      if ((await setPermissions(tx, email, permissions)) === 'unknown') throw unknown('person', email, await emails())
    }
  })
  for (const [id, billing] of entries(change.endpointBilling)) endpointBilling.set(id as EndpointId, billing)
}

/** Applies what a seed says of the endpoints that need billing. It belongs to the process, so every start does this. */
export async function applyEndpointBilling({ store, endpointBilling }: ServiceContext): Promise<void> {
  const stored = await findServiceKey(store.db, 'endpoint-billing')
  const change = readAccessChange({ endpointBilling: JSON.parse(stored ?? '{}') })
  for (const [id, billing] of entries(change.endpointBilling)) endpointBilling.set(id as EndpointId, billing)
}

function entries<Value>(record: Record<string, Value> | undefined): [string, Value][] {
  return Object.entries(record ?? {})
}

function unknown(what: 'tenant' | 'client' | 'person', name: string, known: readonly string[]): TypeError {
  return new TypeError(`there is no ${what} ${JSON.stringify(name.slice(0, 40))}; there are ${firstNames(known)}`)
}
