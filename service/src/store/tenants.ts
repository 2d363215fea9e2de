import { type Db, lookupText, partsOf, rawDatabase } from './database.ts'
import type { Flag } from './schema.ts'

export async function listTenantIds(db: Db): Promise<string[]> {
  const rows = await rawDatabase(db).selectFrom('tenants').select('id').orderBy('id').execute()
  return rows.map(({ id }) => id)
}

interface NewTenant {
  id: string
  name: string
  activity: 'active' | 'inactive'
  billing: 'active' | 'inactive'
}

export async function insertTenants(tx: Db, tenants: readonly NewTenant[]): Promise<void> {
  const rows = tenants.map(({ id, name, activity, billing }) => ({
    id,
    name,
    active: flagOf(activity),
    billing_active: flagOf(billing),
  }))
  for (const part of partsOf(rows)) await rawDatabase(tx).insertInto('tenants').values(part).execute()
}

function flagOf(activity: 'active' | 'inactive'): Flag {
  return activity === 'active' ? 1 : 0
}

/** Sets the billing of a tenant. `unknown` means that there is no such tenant. */
export async function setTenantBilling(
  tx: Db,
  tenantId: string,
  billing: 'active' | 'inactive',
): Promise<'set' | 'unknown'> {
  const { numUpdatedRows } = await rawDatabase(tx)
    .updateTable('tenants')
    .set({ billing_active: flagOf(billing) })
    .where('id', '=', lookupText(tenantId))
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 0n ? 'unknown' : 'set'
}
