import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { sql } from 'kysely'
import Database from 'libsql'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { clientOf, login, refresh, type TokenAnswer } from '../support/login.ts'
import { expectNothingConsumed } from '../support/nothing-consumed.ts'
import { assemble } from '../support/start.ts'

let assembly: Assembly
const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

let dataFile: string
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-unavailable-'))
  undo.push(() => rm(folder, { recursive: true }))
  dataFile = relative('.', join(folder, 'data.db'))
  // A code lives for as long as it may: the refused requests wait, and longer on a busy machine.
  assembly = await assemble({ dataFile, passwordScheme: 'keyed', codeLifeMs: 600_000 })
  undo.push(assembly.service.close)
})

test('locked by another process: 503 with Retry-After, nothing consumed', async () => {
  const other = new Database(dataFile)
  undo.push(async () => other.close())
  await expectNothingConsumed(assembly.service, {
    harm: async () => void other.exec('begin immediate'),
    mend: async () => void other.exec('rollback'),
  })
})

test('a data file that cannot be opened again after a lock is tried at the next query, also from another folder', async () => {
  const db = rawDatabase(assembly.context.store.db)
  const folder = dirname(dataFile)
  const other = new Database(dataFile)
  undo.push(async () => other.close())
  other.exec('begin immediate')
  await sql`pragma busy_timeout = 0`.execute(db)
  const write = () => db.updateTable('tenants').set({ name: 'T' }).execute()
  await expect(write()).rejects.toMatchObject({ code: 'SQLITE_BUSY' })
  other.exec('rollback')
  await rename(folder, `${folder}-away`)
  for (let attempt = 0; attempt < 2; attempt += 1) await expect(write()).rejects.toMatchObject({ code: 'ENOENT' })
  await rename(`${folder}-away`, folder)
  process.chdir('service')
  undo.push(async () => process.chdir('..'))
  await write()
})

test('read-only: 503 with Retry-After, nothing consumed', async () => {
  const db = rawDatabase(assembly.context.store.db)
  await expectNothingConsumed(assembly.service, {
    harm: async () => void (await sql`pragma query_only = on`.execute(db)),
    mend: async () => void (await sql`pragma query_only = off`.execute(db)),
  })
})

test('full: the refresh that no longer fits is 503, and its token goes on when there is room', async () => {
  const { service, context } = assembly
  const client = clientOf(service, 'Demo public')
  let { refresh_token: token } = await login(service)
  await sql`pragma max_page_count = 1`.execute(rawDatabase(context.store.db))
  let answer = await refresh(service, client, token)
  for (let turn = 0; turn < 500 && answer.status === 200; turn += 1) {
    token = ((await answer.json()) as TokenAnswer).refresh_token
    answer = await refresh(service, client, token)
  }
  expect({ status: answer.status, retryAfter: answer.headers.get('retry-after') }).toEqual({
    status: 503,
    retryAfter: '1',
  })
  expect((await refresh(service, client, token)).status).toBe(503)
  await sql`pragma max_page_count = 1073741823`.execute(rawDatabase(context.store.db))
  answer = await refresh(service, client, token)
  expect(answer.status).toBe(200)
  const next = ((await answer.json()) as TokenAnswer).refresh_token
  expect((await refresh(service, client, next)).status).toBe(200)
})
