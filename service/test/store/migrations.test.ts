// @module-tag database

import { Kysely, sql } from 'kysely'
import { expect, test } from 'vitest'
import { failureText } from '../../src/cli/failures.ts'
import type { Tables } from '../../src/store/schema.ts'
import { migrate, migrationsFor, openEngine, openStore } from '../../src/store/store.ts'
import { storedData } from '../support/stored-data.ts'

const data = storedData()
const { opened } = data

const done = (): Promise<string[]> =>
  opened(async (db) => {
    const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db)
    return rows.map(({ name }) => name)
  })

test('empty data gets every table, and data that has them is left as it is', async () => {
  expect(await done()).toEqual(['001-first-tables'])
  await opened((db) => sql`drop table registry_events`.execute(db))
  // Nothing looks at the tables of data that says it is up to date.
  await expect(opened((db) => sql`select * from registry_events`.execute(db))).rejects.toThrow(/registry_events/)
})

test('a start that fails between two tables leaves no table behind, so that the next one succeeds', async () => {
  const engine = openEngine(data.location())
  const inTheWay = new Kysely<unknown>({ dialect: engine.kyselyDialect })
  await inTheWay.schema.createTable('session_tokens').addColumn('id', 'text').execute()
  await expect(openStore(data.location())).rejects.toThrow('the database could not be brought up to date')
  await inTheWay.schema.dropTable('session_tokens').execute()
  await inTheWay.destroy()
  expect(await done()).toEqual(['001-first-tables'])
})

test.each([
  ['one more', sql`insert into kysely_migration (name, timestamp) values ('999-later', 'now')`],
  ['another one', sql`update kysely_migration set name = '001-otherwise'`],
])('data of another version, with %s, is not opened', async (_, change) => {
  await opened((db) => change.execute(db))
  const error: unknown = await openStore(data.location()).catch((reason: unknown) => reason)
  expect(failureText(error, data.location().databaseUrl)).toBe(
    'the data is of a newer version of agent-service; start that version, or choose other data',
  )
})

/** Opens the data as the next version does, which has one migration more, and fails its first query if there is a failure. */
async function openedByNext(mode: 'run' | 'refuse', failure?: Error): Promise<void> {
  const engine = openEngine(data.location())
  const db = new Kysely<Tables>({ dialect: engine.kyselyDialect })
  let queries = 0
  const failing = db.withPlugin({
    transformQuery({ node }) {
      queries += 1
      if (queries === 1 && failure !== undefined) throw failure
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const known = { ...migrationsFor(engine), '002-later': { up: async () => {} } }
  await migrate(failing, known, { migrations: mode }).finally(() => db.destroy())
}

const starting = Object.assign(new Error('the database system is starting up'), { code: '57P03' })
const busy = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })

test('a start brings data of an earlier version up to date, and a command that may not leaves it as it was', async () => {
  await done()
  await expect(openedByNext('refuse')).rejects.toThrow(
    'the data is of an older version of agent-service; use that version, or start this one on it first',
  )
  expect(await done()).toEqual(['001-first-tables'])
  await openedByNext('run')
  await expect(done()).rejects.toThrow(/newer version/)
})

test('a command that may not migrate rejects with the failure of the query for the version, and migrates nothing', async () => {
  await done()
  const error: unknown = await openedByNext('refuse', starting).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ message: 'the database could not be brought up to date', cause: starting })
  expect(failureText(error, data.location().databaseUrl)).toMatch(/^could not open or migrate the database \(57P03\)/)
  expect(await done()).toEqual(['001-first-tables'])
})

test('a query for the version that finds the data locked runs again', async () => {
  await done()
  await expect(openedByNext('refuse', busy)).rejects.toThrow(/older version/)
  await openedByNext('run', busy)
})
