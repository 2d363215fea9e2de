import { sql } from 'kysely'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { isOnPostgres } from './start.ts'

/** The tables that transactions of the service write to, and in which none may leave a trace when its commit fails. */
export const written = [
  'authorization_requests',
  'authorization_codes',
  'grants',
  'refresh_tokens',
  'access_tokens',
  'parent_agents',
  'context_groups',
] as const

/**
 * Makes every commit fail that wrote to the table, with this SQLSTATE where the engine takes one; all statements before
 * it succeed. Returns how to end that, which may be done twice.
 */
export function failCommits(
  assembly: Assembly,
  table: (typeof written)[number],
  state = 'P0001',
): Promise<() => Promise<void>> {
  return isOnPostgres() ? deferTrigger(assembly, table, state) : deferForeignKey(assembly, table)
}

/** A constraint trigger that waits for the commit. With `40001` it raises that once, as a conflict would. */
async function deferTrigger({ context }: Assembly, table: string, state: string): Promise<() => Promise<void>> {
  const db = rawDatabase(context.store.db)
  const only = state === '40001' ? "if nextval('commit_tries') > 1 then return null; end if;" : ''
  await sql.raw('create sequence commit_tries').execute(db)
  await sql
    .raw(`create function fail_commit() returns trigger language plpgsql as $$ begin
      ${only} raise 'the disk of secret-host-7 is on fire' using errcode = '${state}';
    end $$`)
    .execute(db)
  await sql
    .raw(`create constraint trigger fail_commit after insert or update on ${table}
      deferrable initially deferred for each row execute function fail_commit()`)
    .execute(db)
  return async () => {
    await sql.raw(`drop trigger if exists fail_commit on ${table}`).execute(db)
    await sql.raw('drop function if exists fail_commit').execute(db)
    await sql.raw('drop sequence if exists commit_tries').execute(db)
  }
}

/** A row without a parent, which a deferred foreign key lets stand until the commit. */
async function deferForeignKey({ context }: Assembly, table: string): Promise<() => Promise<void>> {
  const db = rawDatabase(context.store.db)
  await sql.raw('create table commit_parents (id integer primary key)').execute(db)
  await sql
    .raw('create table commit_orphans (parent integer references commit_parents (id) deferrable initially deferred)')
    .execute(db)
  for (const event of ['insert', 'update'])
    await sql
      .raw(
        `create trigger fail_commit_${event} after ${event} on ${table} begin insert into commit_orphans values (1); end`,
      )
      .execute(db)
  return async () => {
    for (const event of ['insert', 'update']) await sql.raw(`drop trigger if exists fail_commit_${event}`).execute(db)
  }
}

/** Every row of those tables, to be compared. */
export async function rowsOf({ context }: Assembly): Promise<Record<string, string[]>> {
  const entries = written.map(async (table) => {
    const { rows } = await sql.raw(`select * from ${table}`).execute(rawDatabase(context.store.db))
    return [table, rows.map((row) => JSON.stringify(row)).sort()] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}
