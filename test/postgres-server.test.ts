import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { freshDatabase } from './support/fresh-database.ts'
import { memoryFolder, openFolder } from './support/postgres-program.ts'

test('two fresh databases on one real PostgreSQL see nothing of each other', async () => {
  const databases = await Promise.all([freshDatabase(), freshDatabase()])
  const [first, second] = await Promise.all(
    databases.map(async ({ url }) => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      return client
    }),
  )
  if (first === undefined || second === undefined) throw new Error('two were asked for')
  await first.query('create table seen (id integer)')
  const tables = (await second.query("select 1 from pg_tables where tablename = 'seen'")).rowCount
  await Promise.all([first.end(), second.end()])
  expect(tables).toBe(0)

  await Promise.all(databases.map((database) => database.drop()))
  const gone = new pg.Client({ connectionString: databases[0]?.url })
  await expect(gone.connect()).rejects.toMatchObject({ code: '3D000' })
})

test('the databases of a run are in memory only if its folder is there, open, and has the room', async () => {
  const folder = await mkdtemp(join(openFolder(), 'agent-postgres-test-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  await chmod(folder, 0o755)
  expect(memoryFolder(folder, 1)).toBe(folder)
  expect(memoryFolder(folder, Number.MAX_SAFE_INTEGER)).toBe(openFolder())
  expect(memoryFolder(join(folder, 'none'), 1)).toBe(openFolder())
  await chmod(folder, 0o700)
  expect(memoryFolder(folder, 1)).toBe(openFolder())
})
