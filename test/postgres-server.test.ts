import pg from 'pg'
import { expect, test } from 'vitest'
import { freshDatabase } from './support/fresh-database.ts'

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
