// @module-tag database

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import { clientsMain } from '../../src/cli/clients.ts'
import { exportMain } from '../../src/cli/export.ts'
import { failureText } from '../../src/cli/failures.ts'
import { resetPasswordMain } from '../../src/cli/reset-password.ts'
import type { RawDatabase } from '../../src/store/database.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { migrate } from '../../src/store/migrate.ts'
import { migrations } from '../../src/store/migrations/migrations.ts'
import type { Tables } from '../../src/store/schema.ts'
import { openStore } from '../../src/store/store.ts'
import { isOnPostgres } from '../support/start.ts'

let location: { dataFile: string | undefined; databaseUrl: string | undefined }
beforeEach(async () => {
  if (isOnPostgres()) {
    const { url, drop } = await freshDatabase()
    location = { dataFile: undefined, databaseUrl: url }
    return drop
  }
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-data-version-'))
  location = { dataFile: join(folder, 'data.db'), databaseUrl: undefined }
  return () => rm(folder, { recursive: true })
})

/** Makes data of this version, and does this to it. */
async function made(change: (db: RawDatabase) => Promise<unknown>): Promise<void> {
  const store = await openStore(location)
  await change(rawDatabase(store.db)).finally(() => store.close())
}

/** Makes the data look as if a version without the last migrations had made them. */
const earlier = (db: RawDatabase): Promise<unknown> => sql`delete from kysely_migration where name >= '009'`.execute(db)

test.each([
  ['one more', sql`insert into kysely_migration (name, timestamp) values ('999-later', 'now')`],
  ['another one', sql`update kysely_migration set name = '004-otherwise' where name like '004%'`],
])('data of another version, with %s, is not opened', async (_, change) => {
  await made((db) => change.execute(db))
  const text = 'the data is of a newer version of agent-service; start that version, or choose other data'
  const error: unknown = await openStore(location).catch((reason: unknown) => reason)
  expect(failureText(error, location.databaseUrl)).toBe(text)
})

test.each([
  ['export', exportMain, []],
  ['clients', clientsMain, ['list']],
  ['reset-password', resetPasswordMain, ['ada@demo.example']],
])(
  '%s refuses data of an earlier version, which an older service may run on, and leaves it as it was',
  async (_, main, words) => {
    const output = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    onTestFinished(() => output.mockRestore())
    const { dataFile, databaseUrl } = location
    const place = dataFile === undefined ? ['--database-url', databaseUrl ?? ''] : ['--data', dataFile]
    const run = async () => ({ code: await main([...words, ...place]), said: output.mock.lastCall?.[0] })
    await made(earlier)
    const text = 'the data is of an older version of agent-service; use that version, or start this one on it first'
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await run()).toEqual({ code: 1, said: `agent-service: ${text}\n` })
  },
)

/** Brings the data up to date, and fails the first of the queries for its version with this error. */
async function migrateAfter(failure: Error, mode: 'run' | 'refuse'): Promise<void> {
  const engine = await openEngine(location)
  const db = new Kysely<Tables>({ dialect: engine.kyselyDialect })
  let queries = 0
  const failingOnce = db.withPlugin({
    transformQuery({ node }) {
      queries += 1
      if (queries === 1) throw failure
      return node
    },
    transformResult: async ({ result }) => result,
  })
  await migrate(failingOnce, migrations(engine), { migrations: mode }).finally(() => db.destroy())
}

const starting = Object.assign(new Error('the database system is starting up'), { code: '57P03' })
const busy = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })

test('a command that may not migrate rejects with the failure of the query for the version, and migrates nothing', async () => {
  await made(earlier)
  const error: unknown = await migrateAfter(starting, 'refuse').catch((reason: unknown) => reason)
  expect(error).toMatchObject({ message: 'the database could not be brought up to date', cause: starting })
  expect(failureText(error, location.databaseUrl)).toMatch(/^could not open or migrate the database \(57P03\)/)
  await expect(openStore(location, { migrations: 'refuse' })).rejects.toThrow(/older version/)
})

test.each(['run', 'refuse'] as const)(
  'a query for the version that finds the data locked runs again, and the data is judged by it (%s)',
  async (mode) => {
    await migrateAfter(busy, mode)
    await made(earlier)
    const refusal = mode === 'refuse' ? /older version/ : /brought up to date/
    await expect(migrateAfter(busy, mode)).rejects.toThrow(refusal)
  },
)
