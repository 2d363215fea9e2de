import type { Slots } from './prepare.ts'
import { prepare } from './prepare.ts'
import type { Db } from './store.ts'

const name = prepare((db, { tenantId }: Slots<{ tenantId: string }>) =>
  db.selectFrom('tenants').select('name').where('id', '=', tenantId),
)

export async function findTenantName(db: Db, tenantId: string): Promise<string> {
  return (await name.first(db, { tenantId }))?.name ?? tenantId
}
