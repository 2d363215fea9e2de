import type { Db } from './store.ts'

export async function findTenantName(db: Db, tenantId: string): Promise<string> {
  const row = await db.selectFrom('tenants').select('name').where('id', '=', tenantId).executeTakeFirst()
  return row?.name ?? tenantId
}
