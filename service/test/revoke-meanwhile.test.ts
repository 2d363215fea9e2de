import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Db } from '../src/store/store.ts'
import { login } from './login.ts'
import { assemble } from './start.ts'

const insert = {
  revoke: (tx: Db, grant_id: string) =>
    tx
      .insertInto('refresh_tokens')
      .values({
        hash: 'successor',
        grant_id,
        idle_expires_ms: Date.now() + 60_000,
        used_ms: null,
        revoked_ms: null,
        successor_hash: null,
        successor_sealed: null,
      })
      .execute(),
  expire: (tx: Db, grant_id: string) =>
    tx
      .insertInto('access_tokens')
      .values({ hash: 'successor', grant_id, expires_ms: Date.now() + 60_000 })
      .execute(),
}

test.each(['revoke', 'expire'] as const)(
  'S-054 %s waits for a refresh that is not complete and reaches what it issues',
  async (control) => {
    const { service, context } = await assemble()
    onTestFinished(service.close)
    const { db } = context.store
    await login(service)
    const { id } = await db.selectFrom('grants').select('id').executeTakeFirstOrThrow()
    let begun = (): void => {}
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    // As a refresh does: it holds its grant, then adds a token.
    const refreshing = db.transaction().execute(async (tx) => {
      await tx.updateTable('grants').set({ touched_ms: 1 }).where('id', '=', id).execute()
      await insert[control](tx, id)
      begun()
      await pause(500)
    })
    await isBegun
    await (control === 'revoke' ? service.dev.revokeRefreshTokens() : service.dev.expireAccessTokens())
    const nowMs = service.dev.nowMs()
    await refreshing
    const refresh = await db.selectFrom('refresh_tokens').select('revoked_ms').execute()
    const access = await db.selectFrom('access_tokens').select('expires_ms').execute()
    if (control === 'revoke') expect(refresh.map(({ revoked_ms }) => revoked_ms !== null)).toEqual([true, true])
    else expect(access.map(({ expires_ms }) => expires_ms <= nowMs)).toEqual([true, true])
  },
)
