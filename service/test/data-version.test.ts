import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { freshDatabase } from '../../test/support/fresh-database.ts'
import { clientsMain } from '../src/cli/clients.ts'
import { exportMain } from '../src/cli/export.ts'
import { failureText } from '../src/cli/failures.ts'
import { resetPasswordMain } from '../src/cli/reset-password.ts'
import type { RawDatabase } from '../src/store/database.ts'
import { rawDatabase } from '../src/store/database.ts'
import { openStore } from '../src/store/store.ts'
import { isOnPostgres } from './start.ts'

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
    const run = async () => [await main([...words, ...place]), output.mock.lastCall?.[0]]
    await made((db) => sql`delete from kysely_migration where name >= '009'`.execute(db))
    const text = 'the data is of an older version of agent-service; use that version, or start this one on it first'
    for (let attempt = 0; attempt < 2; attempt++) expect(await run()).toEqual([1, `agent-service: ${text}\n`])
  },
)
