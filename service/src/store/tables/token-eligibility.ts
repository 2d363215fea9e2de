import type { Db } from '../database.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import type { ClientRefusal } from './clients.ts'
import { approvalOf } from './clients.ts'

interface Parties {
  clientId: string
  personId: string
  tenantId: string
}

/** The permissions that new tokens of an authorization carry, or the reason why there are no new tokens. */
export type TokenEligibility = { permissions: string[] } | Ineligible
/** `account-inactive` also covers a user who moved to another tenant, and a user of an inactive tenant. */
export type Ineligible = 'account-inactive' | ClientRefusal

const eligibility = prepare((db, { clientId, personId, tenantId }: Slots<Parties>) =>
  db
    .selectFrom('people')
    .innerJoin('tenants', 'tenants.id', 'people.tenant_id')
    .leftJoin('clients', (join) => join.on('clients.id', '=', clientId))
    .leftJoin('client_approvals as approval', (join) =>
      join.onRef('approval.client_id', '=', 'clients.id').on('approval.tenant_id', '=', tenantId),
    )
    .select(['people.tenant_id', 'people.permissions', 'people.active', 'tenants.active as tenant_active'])
    .select(['clients.active as client_active', 'approval.active as approved', 'approval.surfaces'])
    .where('people.id', '=', personId),
)

/**
 * Reads user, tenant, client and approval in one query, because every redemption and every refresh needs them. A user that is gone counts
 * before the approval, and an inactive one after it.
 */
export async function findEligibility(db: Db, parties: Parties): Promise<TokenEligibility> {
  const row = await eligibility.first(db, parties)
  if (row === undefined) return 'account-inactive'
  const approval = approvalOf(row)
  if (approval !== 'approved') return approval
  const isActive = row.active === 1 && row.tenant_active === 1 && row.tenant_id === parties.tenantId
  return isActive ? { permissions: JSON.parse(row.permissions) } : 'account-inactive'
}
