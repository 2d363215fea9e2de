import type { Selectable } from 'kysely'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'
import type { AuthorizationCodeTable } from '../schema.ts'
import type { Db } from '../store.ts'

export type AuthorizationCode = Selectable<AuthorizationCodeTable>

type NewCode = Omit<AuthorizationCode, 'attempts' | 'used_ms' | 'grant_id' | 'keep_until_ms'>

const insertCode = prepare((db, code: Slots<NewCode>) =>
  db.insertInto('authorization_codes').values({
    hash: code.hash,
    client_id: code.client_id,
    redirect_uri: code.redirect_uri,
    code_challenge: code.code_challenge,
    person_id: code.person_id,
    tenant_id: code.tenant_id,
    scope: code.scope,
    expires_ms: code.expires_ms,
    attempts: 0,
    used_ms: null,
    grant_id: null,
    keep_until_ms: code.expires_ms,
  }),
)

export async function saveCode(db: Db, code: NewCode): Promise<void> {
  await insertCode.run(db, code)
}

const attempt = prepare((db, { hash }: Slots<{ hash: string }>) =>
  db
    .updateTable('authorization_codes')
    .set((column) => ({ attempts: column('attempts', '+', 1) }))
    .where('hash', '=', hash)
    .returningAll(),
)

/** Counts the attempt first: the update also locks the row, so attempts on one code run one after the other. */
export async function countAttempt(db: Db, hash: string): Promise<AuthorizationCode | undefined> {
  return attempt.first(db, { hash })
}

interface Use {
  hash: string
  grantId: string
  nowMs: number
  keepUntilMs: number
}

const use = prepare((db, { hash, grantId, nowMs, keepUntilMs }: Slots<Use>) =>
  db
    .updateTable('authorization_codes')
    .set({ used_ms: nowMs, grant_id: grantId, keep_until_ms: keepUntilMs })
    .where('hash', '=', hash),
)

export async function markCodeUsed(db: Db, used: Use): Promise<void> {
  await use.run(db, used)
}
