import pg from 'pg'
import { inject } from 'vitest'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import type { Service, ServiceOptions } from '../../src/index.ts'
import * as service from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import * as app from '../../src/server/create-service.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Which database the services of this run keep their data in. */
    serviceDatabase: 'libsql' | 'postgres'
  }
}

// Tests start services with these, so that those with the tag `database` run on both databases. Only a test of
// the file itself names a dataFile, which stays on libSQL.

/** `createService` on the database of this run; an empty one of its own. */
export function createService(options: ServiceOptions = {}): Promise<Service> {
  return onOwnDatabase(
    options,
    (all) => service.createService(all),
    (started) => started,
  )
}

/** `startService` on the database of this run. */
export function startService(options: ServiceOptions = {}): Promise<Service> {
  return onOwnDatabase(
    options,
    (all) => service.startService(all),
    (started) => started,
  )
}

/** `assemble` on the database of this run, for tests that look inside. */
export function assemble(options: ServiceOptions = {}): Promise<Assembly> {
  return onOwnDatabase(
    options,
    (all) => app.assemble(all),
    (started) => started.service,
  )
}

/** The database of this run is PostgreSQL. */
export function isOnPostgres(): boolean {
  return inject('serviceDatabase') === 'postgres'
}

interface TestDatabase {
  url: string
  /** Stays connected, because connecting costs more than emptying. */
  client: pg.Client
  /** The names of its tables once a service has made them. */
  tables?: string
}

/** Databases of services that closed, empty again: making one and its tables takes many times as long. */
const idle: TestDatabase[] = []

async function onOwnDatabase<Started>(
  options: ServiceOptions,
  start: (options: ServiceOptions) => Promise<Started>,
  serviceOf: (started: Started) => Service,
): Promise<Started> {
  if (!isOnPostgres() || options.dataFile !== undefined || options.databaseUrl !== undefined) return start(options)
  const database = idle.pop() ?? (await newDatabase())
  // The slow hash is slow on purpose; tests of it ask for it.
  const started = await start({ passwordScheme: 'keyed', ...options, databaseUrl: database.url }).catch(
    async (error: unknown) => {
      await giveBack(database)
      throw error
    },
  )
  database.tables ??= await tablesOf(database)
  const running = serviceOf(started)
  const close = running.close
  let closing: Promise<void> | undefined
  running.close = () => {
    closing ??= close().then(() => giveBack(database))
    return closing
  }
  return started
}

async function newDatabase(): Promise<TestDatabase> {
  const { url } = await freshDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  // Rows go in any order of tables.
  await client.query('set session_replication_role = replica')
  return { url, client }
}

async function tablesOf({ client }: TestDatabase): Promise<string> {
  const named =
    "select string_agg(tablename, ' ' order by tablename) as tables from pg_tables where schemaname = 'public'"
  const { rows } = await client.query<{ tables: string | null }>(named)
  return rows[0]?.tables ?? ''
}

/** Everything goes, keys included, and ids begin at 1 again. */
const emptying = `do $$ declare found record; begin
  for found in select tablename from pg_tables where schemaname = 'public' and tablename not like 'kysely%' loop
    execute format('delete from %I', found.tablename);
  end loop;
  perform setval(oid, 1, false) from pg_class where relkind = 'S';
end $$`

/** Keeps it for the next service of this file, unless a test has taken tables away. */
async function giveBack(database: TestDatabase): Promise<void> {
  const isWhole = database.tables === undefined || database.tables === (await tablesOf(database))
  if (!isWhole) return database.client.end()
  await database.client.query(emptying)
  idle.push(database)
}
