import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'libsql'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase, transact } from '../../src/store/database.ts'
import { assemble } from '../support/start.ts'

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
