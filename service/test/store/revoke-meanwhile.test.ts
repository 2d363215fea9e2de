// @module-tag database

import { expect, onTestFinished, test } from 'vitest'
import { type RawDatabase, rawDatabase } from '../../src/store/database.ts'
import { signal, untilWaiting } from '../support/held-up.ts'
import { login } from '../support/login.ts'
import { assemble } from '../support/start.ts'
import { removeIdleTimeout } from '../support/untimed.ts'

const laterMs = (): number => Date.now() + 60_000

/** What comes first in a token request decides how it is held up: a refresh updates its grant, a code makes a new one. */
const grantOf = {
  refresh: async (tx: RawDatabase, id: string) => {
    await tx.updateTable('grants').set({ touched_ms: 1 }).where('id', '=', id).execute()
    return id
  },
  'code exchange': async (tx: RawDatabase, id: string) => {
    const { client_id, person_id, tenant_id, scope } = await tx
      .selectFrom('grants')
      .selectAll()
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const parties = { client_id, person_id, tenant_id, scope }
    const times = { created_ms: 1, touched_ms: 1, expires_ms: laterMs(), revoked_ms: null }
    await tx
      .insertInto('grants')
      .values({ id: 'new', ...parties, ...times })
      .execute()
    return 'new'
  },
}

const insert = {
  revoke: (tx: RawDatabase, grant_id: string) =>
    tx
      .insertInto('refresh_tokens')
      .values({
        hash: 'successor',
        grant_id,
        idle_expires_ms: laterMs(),
        used_ms: null,
        revoked_ms: null,
        successor_hash: null,
        successor_sealed: null,
      })
      .execute(),
  expire: (tx: RawDatabase, grant_id: string) =>
    tx.insertInto('access_tokens').values({ hash: 'successor', grant_id, expires_ms: laterMs() }).execute(),
}

test.each([
  ['revoke', 'refresh'],
  ['expire', 'refresh'],
  ['revoke', 'code exchange'],
  ['expire', 'code exchange'],
] as const)('%s waits for a %s that is not complete and reaches what it issues', async (control, issuer) => {
  const { service, context } = await assemble()
  onTestFinished(service.close)
  const db = rawDatabase(context.store.db)
  await login(service)
  const { id } = await db.selectFrom('grants').select('id').executeTakeFirstOrThrow()
  const begun = signal()
  const mayEnd = signal()
  const issuing = db.transaction().execute(async (tx) => {
    await removeIdleTimeout(tx)
    await insert[control](tx, await grantOf[issuer](tx, id))
    begun.give()
    await mayEnd.given
  })
  await begun.given
  let isOver = false
  const controlled = (control === 'revoke' ? service.dev.revokeRefreshTokens() : service.dev.expireAccessTokens()).then(
    () => {
      isOver = true
    },
  )
  await untilWaiting(db, () => isOver)
  mayEnd.give()
  await Promise.all([issuing, controlled])
  const nowMs = service.dev.nowMs()
  const refresh = await db.selectFrom('refresh_tokens').select('revoked_ms').execute()
  const access = await db.selectFrom('access_tokens').select('expires_ms').execute()
  if (control === 'revoke') expect(refresh.map(({ revoked_ms }) => revoked_ms !== null)).toEqual([true, true])
  else expect(access.map(({ expires_ms }) => expires_ms <= nowMs)).toEqual([true, true])
})
