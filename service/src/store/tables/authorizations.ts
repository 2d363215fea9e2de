import type { Db } from '../database.ts'
import { rawDatabase } from '../database.ts'
import { queryTraitsOf } from '../engine/engine.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'

/**
 * The stored approval of a user for a client, from which tokens are issued. Its table is called `grants`, because a
 * published migration made it and RFC 6749 calls it an authorization grant.
 */
export interface Authorization {
  id: string
  clientId: string
  personId: string
  tenantId: string
  scope: string
  expiresMs: number
}

const insertAuthorization = prepare((db, row: Slots<Authorization & { nowMs: number }>) =>
  db.insertInto('grants').values({
    id: row.id,
    client_id: row.clientId,
    person_id: row.personId,
    tenant_id: row.tenantId,
    scope: row.scope,
    created_ms: row.nowMs,
    expires_ms: row.expiresMs,
    touched_ms: row.nowMs,
    revoked_ms: null,
  }),
)

export async function saveAuthorization(db: Db, authorization: Authorization, nowMs: number): Promise<void> {
  await insertAuthorization.run(db, { ...authorization, nowMs })
}

/** `touched_ms` is only written, never read: the update locks the row. */
const lock = prepare((db, { refreshTokenHash, nowMs }: Slots<{ refreshTokenHash: string; nowMs: number }>) =>
  db
    .updateTable('grants')
    .set({ touched_ms: nowMs })
    .where('id', '=', (select) =>
      select.selectFrom('refresh_tokens').select('grant_id').where('hash', '=', refreshTokenHash),
    ),
)

/** Locks the authorization of a refresh token, so that uses of one token family run one after the other. */
export async function lockAuthorizationOf(db: Db, refreshTokenHash: string, nowMs: number): Promise<void> {
  if (queryTraitsOf(rawDatabase(db)).transactionsLock === 'rows') await lock.run(db, { refreshTokenHash, nowMs })
}

const revoke = prepare((db, { id, nowMs }: Slots<{ id: string; nowMs: number }>) =>
  db.updateTable('grants').set({ revoked_ms: nowMs }).where('id', '=', id).where('revoked_ms', 'is', null),
)

/** Revokes an authorization. All of its refresh and access tokens end with it (S-028, S-050). */
export async function revokeAuthorization(db: Db, id: string, nowMs: number): Promise<void> {
  await revoke.run(db, { id, nowMs })
}
