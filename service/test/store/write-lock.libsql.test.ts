import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase, transact } from '../../src/store/database.ts'
import { clientOf, login, refresh } from '../support/login.ts'
import { assemble } from '../support/start.ts'
import { observe, type Statement } from '../support/statements.ts'

let folder: string
let assembly: Assembly
let other: Database.Database
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-service-lock-'))
  const dataFile = join(folder, 'data.db')
  assembly = await assemble({ dataFile, passwordScheme: 'keyed' })
  other = new Database(dataFile)
  other.pragma('busy_timeout = 0')
})
afterEach(async () => {
  other.close()
  await assembly.service.close()
  await rm(folder, { recursive: true })
})

test('a transaction that may write has the lock to write before its first statement, so no other one is between two uses of a token', async () => {
  await transact(assembly.context.store.db, async () => {
    expect(() => other.exec('begin immediate')).toThrow(expect.objectContaining({ code: 'SQLITE_BUSY' }))
  })
  other.exec('begin immediate')
  other.exec('rollback')
})

test('a transaction that only reads keeps no other process from writing', async () => {
  const reading = rawDatabase(assembly.context.store.db).transaction().setAccessMode('read only')
  await reading.execute(async (tx) => {
    await tx.selectFrom('tenants').select('id').execute()
    other.exec('begin immediate')
    other.exec('rollback')
  })
})

test('a refresh needs no statement for a lock that its transaction has', async () => {
  const { service } = assembly
  // A minute later a request would clean up, by statements of its own.
  service.dev.freeze()
  const { refresh_token } = await login(service)
  const statements: Statement[] = []
  observe(assembly, { after: (statement) => void statements.push(statement) })
  expect((await refresh(service, clientOf(service, 'Demo public'), refresh_token)).status).toBe(200)
  const tables = statements.map(({ sql }) => /(?:from|into|^update) "(\w+)"/.exec(sql)?.[1])
  const written = ['access_tokens', 'refresh_tokens', 'refresh_tokens']
  expect(tables).toEqual(['clients', 'refresh_tokens', 'people', ...written])
})
