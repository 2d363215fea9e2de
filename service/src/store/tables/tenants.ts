import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'

export async function listTenantIds(db: Db): Promise<string[]> {
  const rows = await rawDatabase(db).selectFrom('tenants').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

/** Waits for a process that is inserting the same tenants, and then inserts none: `present`. */
export async function insertTenants(
  tx: Db,
  tenants: readonly { id: string; name: string }[],
): Promise<'inserted' | 'present'> {
  const { numInsertedOrUpdatedRows } = await rawDatabase(tx)
    .insertInto('tenants')
    .values(tenants.map(({ id, name }) => ({ id, name, active: 1 as const, billing_active: 1 as const })))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === BigInt(tenants.length) ? 'inserted' : 'present'
}

/** Sets the billing of a tenant. `unknown` means that there is no such tenant. */
export async function setTenantBilling(
  tx: Db,
  tenantId: string,
  billing: 'active' | 'inactive',
): Promise<'set' | 'unknown'> {
  const { numUpdatedRows } = await rawDatabase(tx)
    .updateTable('tenants')
    .set({ billing_active: billing === 'active' ? 1 : 0 })
    .where('id', '=', tenantId)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 0n ? 'unknown' : 'set'
}
