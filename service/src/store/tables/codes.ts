import type { Db } from '../database.ts'
import type { Slots } from '../engine/prepare.ts'
import { prepare } from '../engine/prepare.ts'

interface NewCode {
  hash: string
  clientId: string
  redirectUri: string
  codeChallenge: string | null
  personId: string
  tenantId: string
  scope: string
  expiresMs: number
}

export interface AuthorizationCode extends NewCode {
  /** How often the code was presented, this time included. */
  attempts: number
  usedMs: number | null
  authorizationId: string | null
}

const insertCode = prepare((db, code: Slots<NewCode>) =>
  db.insertInto('authorization_codes').values({
    hash: code.hash,
    client_id: code.clientId,
    redirect_uri: code.redirectUri,
    code_challenge: code.codeChallenge,
    person_id: code.personId,
    tenant_id: code.tenantId,
    scope: code.scope,
    expires_ms: code.expiresMs,
    attempts: 0,
    used_ms: null,
    grant_id: null,
    keep_until_ms: code.expiresMs,
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
    .returning(['hash', 'client_id as clientId', 'redirect_uri as redirectUri', 'code_challenge as codeChallenge'])
    .returning(['person_id as personId', 'tenant_id as tenantId', 'scope', 'expires_ms as expiresMs'])
    .returning(['attempts', 'used_ms as usedMs', 'grant_id as authorizationId']),
)

/** Counts an attempt, then returns the code. The update locks the row, so attempts on one code run one after the other. */
export async function countAttempt(db: Db, hash: string): Promise<AuthorizationCode | undefined> {
  return attempt.first(db, { hash })
}

interface Use {
  hash: string
  authorizationId: string
  nowMs: number
  keepUntilMs: number
}

const use = prepare((db, { hash, authorizationId, nowMs, keepUntilMs }: Slots<Use>) =>
  db
    .updateTable('authorization_codes')
    .set({ used_ms: nowMs, grant_id: authorizationId, keep_until_ms: keepUntilMs })
    .where('hash', '=', hash),
)

/** Marks a code as used. Its row stays as long as a token of its authorization can live (S-032). */
export async function markCodeUsed(db: Db, used: Use): Promise<void> {
  await use.run(db, used)
}
