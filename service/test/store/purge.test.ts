// @module-tag database

import { sql } from 'kysely'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Assembly } from '../../src/server/create-service.ts'
import { type RawDatabase, rawDatabase } from '../../src/store/database.ts'
import { purge } from '../../src/store/purge.ts'
import { authorize, authorizeUrl, Browser, clientOf, login, refresh } from '../support/login.ts'
import { assemble, isOnPostgres } from '../support/start.ts'

let assembly: Assembly
let db: RawDatabase
beforeEach(async () => {
  assembly = await assemble()
  db = rawDatabase(assembly.context.store.db)
})
afterEach(() => assembly.service.close())

type Counted = 'authorization_codes' | 'sign_in_sessions' | 'refresh_tokens' | 'access_tokens' | 'grants'

async function count(table: Counted): Promise<number> {
  const { rows } = await db
    .selectFrom(table)
    .select((select) => select.fn.countAll<number | string | bigint>().as('rows'))
    .executeTakeFirstOrThrow()
  return Number(rows)
}

test('data beyond one statement is removed in several, and what is left is said', async () => {
  const { id } = await db.selectFrom('people').select('id').limit(1).executeTakeFirstOrThrow()
  const session = (index: number) => ({ id_hash: `old-${index}`, person_id: id, created_ms: 0, seen_ms: 0 })
  for (let at = 0; at < 42_000; at += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, index) => session(at + index))
    await db.insertInto('sign_in_sessions').values(rows).execute()
  }
  expect(await purge(assembly.context.store.db, Date.now())).toBe('more')
  const left = await count('sign_in_sessions')
  expect({ someStay: left > 0, someWent: left < 42_000 }).toEqual({ someStay: true, someWent: true })
  expect(await purge(assembly.context.store.db, Date.now())).toBe('done')
  expect(await count('sign_in_sessions')).toBe(0)
})

test('an expired grant goes with all of its tokens, and others stay', async () => {
  const client = clientOf(assembly.service, 'Demo public')
  await login(assembly.service)
  const { id } = await db.selectFrom('grants').select('id').executeTakeFirstOrThrow()
  for (let at = 0; at < 2_500; at += 500) {
    const rows = Array.from({ length: 500 }, (_, index) => ({
      hash: `old-${at + index}`,
      grant_id: id,
      idle_expires_ms: 0,
      used_ms: 0,
      revoked_ms: null,
      successor_hash: null,
      successor_sealed: null,
    }))
    await db.insertInto('refresh_tokens').values(rows).execute()
  }
  await db.updateTable('grants').set({ expires_ms: 1 }).where('id', '=', id).execute()
  const { refresh_token } = await login(assembly.service)
  expect(await purge(assembly.context.store.db, Date.now())).toBe('done')
  expect({
    grants: await count('grants'),
    refreshTokens: await count('refresh_tokens'),
    accessTokens: await count('access_tokens'),
  }).toEqual({ grants: 1, refreshTokens: 1, accessTokens: 1 })
  expect((await refresh(assembly.service, client, refresh_token)).status).toBe(200)
})

test('what a user approves and redeems again and again is deleted when its life ends', async () => {
  const { service, context } = assembly
  context.clock.freeze()
  for (let round = 0; round < 3; round += 1) {
    await authorize(service)
    await login(service)
    await login(service, { client: clientOf(service, 'Demo confidential') })
  }
  const nowMs = context.clock.nowMs()
  async function left(afterMs: number): Promise<Record<string, number | undefined>> {
    expect(await purge(context.store.db, nowMs + afterMs)).toBe('done')
    const tables = ['authorization_codes', 'grants', 'refresh_tokens', 'access_tokens'] as const
    const [codes, grants, refreshTokens, accessTokens] = await Promise.all(tables.map(count))
    return { codes, grants, refreshTokens, accessTokens }
  }
  expect(await left(59_999)).toEqual({ codes: 9, grants: 6, refreshTokens: 6, accessTokens: 6 })
  expect(await left(60_000)).toEqual({ codes: 6, grants: 6, refreshTokens: 6, accessTokens: 6 })
  expect(await left(600_000)).toEqual({ codes: 6, grants: 6, refreshTokens: 6, accessTokens: 0 })
  expect(await left(24 * 3_600_000)).toEqual({ codes: 3, grants: 3, refreshTokens: 3, accessTokens: 0 })
  expect(await left(30 * 24 * 3_600_000)).toEqual({ codes: 0, grants: 0, refreshTokens: 0, accessTokens: 0 })
})

test('a clock that a test moves ahead removes nothing that another process may still use', async () => {
  await login(assembly.service)
  assembly.service.dev.advance(31 * 24 * 60 * 60_000)
  await new Browser(assembly.service.fetch).get(authorizeUrl(assembly.service).url)
  expect({
    grants: await count('grants'),
    refreshTokens: await count('refresh_tokens'),
    accessTokens: await count('access_tokens'),
  }).toEqual({ grants: 1, refreshTokens: 1, accessTokens: 1 })
})

// Only PostgreSQL has a limit for one statement.
if (isOnPostgres())
  test('rows that take longer to remove than a statement may are removed nevertheless', async () => {
    // Few long sleeps: many short ones could together take one statement longer than it may on a busy machine.
    await sql`create function slowly() returns trigger language plpgsql as $$
      begin if old.id_hash like '%00' then perform pg_sleep(0.3); end if; return old; end $$`.execute(db)
    await sql`create trigger slowly before delete on sign_in_sessions for each row execute function slowly()`.execute(
      db,
    )
    const { id } = await db.selectFrom('people').select('id').limit(1).executeTakeFirstOrThrow()
    await sql`insert into sign_in_sessions (id_hash, person_id, created_ms, seen_ms)
      select 'old-' || n, ${id}, 0, 0 from generate_series(1, 4000) n`.execute(db)
    expect(await purge(assembly.context.store.db, Date.now())).toBe('done')
    expect(await count('sign_in_sessions')).toBe(0)
    await sql`drop function slowly cascade`.execute(db)
  })
