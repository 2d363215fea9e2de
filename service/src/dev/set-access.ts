import type { AccessChange, EndpointId } from '../access.ts'
import { readAccessChange } from '../access.ts'
import type { ServiceContext } from '../context.ts'
import { transact } from '../store/engine/transact.ts'
import { changeApproval } from '../store/tables/clients.ts'
import { setPermissions } from '../store/tables/people.ts'
import { setTenantBilling } from '../store/tables/tenants.ts'

/** Applies an access change, all or nothing. Rejects with a TypeError that names the tenant, client or user that is unknown. */
export async function setAccess({ store, endpointBilling }: ServiceContext, value: AccessChange): Promise<void> {
  const change = readAccessChange(value)
  if (Object.keys(change).length === 0) return
  await transact(store.db, async (tx) => {
    for (const [id, billing] of entries(change.billing)) require(await setTenantBilling(tx, id, billing), 'tenant', id)
    for (const [name, approval] of entries(change.approval)) {
      require(await changeApproval(tx, name, { approval }), 'client', name)
    }
    for (const [name, surfaces] of entries(change.surfaces)) {
      require(await changeApproval(tx, name, { surfaces }), 'client', name)
    }
    for (const [email, permissions] of entries(change.permissions)) {
      require(await setPermissions(tx, email, permissions), 'person', email)
    }
  })
  for (const [id, billing] of entries(change.endpointBilling)) endpointBilling.set(id as EndpointId, billing)
}

function entries<Value>(record: Record<string, Value> | undefined): [string, Value][] {
  return Object.entries(record ?? {})
}

function require(result: string, what: 'tenant' | 'client' | 'person', name: string): void {
  if (result === 'unknown') throw new TypeError(`there is no ${what} ${JSON.stringify(name)}`)
}
