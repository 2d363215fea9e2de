import type { AccessChange, EndpointId } from '../access.ts'
import { readAccessChange } from '../access.ts'
import type { ServiceContext } from '../context.ts'
import { transact } from '../store/engine/transact.ts'
import type { Db } from '../store/store.ts'
import { findPersonByEmail } from '../store/tables/people.ts'

/** Carries out an access change, all or nothing. Rejects with a TypeError that names what there is not. */
export async function setAccess({ store, endpointBilling }: ServiceContext, value: AccessChange): Promise<void> {
  const change = readAccessChange(value)
  if (Object.keys(change).length === 0) return
  await transact(store.db, async (tx) => {
    for (const [id, billing] of entries(change.billing)) await setBilling(tx, id, billing)
    for (const [name, approval] of entries(change.approval)) {
      await setApproval(tx, name, { active: approval === 'approved' ? 1 : 0 })
    }
    for (const [name, surfaces] of entries(change.surfaces)) {
      await setApproval(tx, name, { surfaces: JSON.stringify(surfaces) })
    }
    for (const [email, permissions] of entries(change.permissions)) await setPermissions(tx, email, permissions)
  })
  for (const [id, billing] of entries(change.endpointBilling)) endpointBilling.set(id as EndpointId, billing)
}

function entries<Value>(record: Record<string, Value> | undefined): [string, Value][] {
  return Object.entries(record ?? {})
}

async function setBilling(tx: Db, id: string, billing: 'active' | 'inactive'): Promise<void> {
  const changed = await tx
    .updateTable('tenants')
    .set({ billing_active: billing === 'active' ? 1 : 0 })
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  if (changed.numUpdatedRows === 0n) throw missing('tenant', id)
}

/** A client's own tenant approves it. */
async function setApproval(tx: Db, name: string, values: { active: 0 | 1 } | { surfaces: string }): Promise<void> {
  const changed = await tx
    .updateTable('client_approvals')
    .set(values)
    .where('client_id', 'in', (select) =>
      select
        .selectFrom('clients')
        .select('id')
        .where((where) => where.or([where('id', '=', name), where('name', '=', name)])),
    )
    .executeTakeFirstOrThrow()
  if (changed.numUpdatedRows === 0n) throw missing('client', name)
}

async function setPermissions(tx: Db, email: string, permissions: string[]): Promise<void> {
  const person = await findPersonByEmail(tx, email)
  if (person === undefined) throw missing('person', email)
  const values = { permissions: JSON.stringify(permissions) }
  await tx.updateTable('people').set(values).where('id', '=', person.id).execute()
}

function missing(what: string, name: string): TypeError {
  return new TypeError(`there is no ${what} ${JSON.stringify(name)}`)
}
