import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { expectNothingConsumed } from '../support/nothing-consumed.ts'
import { startBalancer } from '../support/processes.ts'
import { assemble } from '../support/start.ts'
import { observe } from '../support/statements.ts'

let assembly: Assembly
const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

let admin: pg.Client
let name: string
let balancer: Awaited<ReturnType<typeof startBalancer>>
let port: string
beforeEach(async () => {
  const database = await freshDatabase()
  undo.push(database.drop)
  admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  undo.push(() => admin.end())
  balancer = await startBalancer()
  undo.push(balancer.close)
  const url = new URL(database.url)
  name = url.pathname.slice(1)
  port = url.port
  balancer.serve([`http://127.0.0.1:${port}`])
  url.port = new URL(balancer.url).port
  // A code lives for as long as it may: the refused requests wait, and longer on a busy machine.
  assembly = await assemble({ databaseUrl: url.href, passwordScheme: 'keyed', codeLifeMs: 600_000 })
  undo.push(assembly.service.close)
})

const endConnections =
  'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'

test('out of reach: 503 with Retry-After, nothing consumed, and well again by itself', async () => {
  await expectNothingConsumed(assembly.service, {
    harm: async () => balancer.cut(),
    mend: async () => balancer.serve([`http://127.0.0.1:${port}`]),
  })
})

test('read-only: 503 with Retry-After, nothing consumed', async () => {
  const setReadOnly = async (value: 'on' | 'off'): Promise<void> => {
    await admin.query(`alter database ${name} set default_transaction_read_only = ${value}`)
    await admin.query(endConnections)
    // The pool has to hear of it first.
    await expect.poll(async () => (await admin.query(endConnections)).rowCount).toBe(0)
  }
  await expectNothingConsumed(assembly.service, { harm: () => setReadOnly('on'), mend: () => setReadOnly('off') })
})

test('tables locked: 503 with Retry-After, nothing consumed', async () => {
  await expectNothingConsumed(assembly.service, {
    harm: async () => void (await admin.query('begin; lock table grants, authorization_codes, llm_models')),
    mend: async () => void (await admin.query('rollback')),
  })
})

test.each([
  ['reset', 'from "grants" for update'],
  ['expireAccessTokens', 'lock table "grants"'],
  ['revokeRefreshTokens', 'lock table "grants"'],
] as const)('%s waits too long for a lock of another transaction, and begins again', async (control, lock) => {
  await admin.query('begin; lock table grants')
  let attempts = 0
  let released: Promise<unknown> | undefined
  observe(assembly, {
    before({ sql }) {
      if (!sql.includes(lock)) return
      attempts += 1
      if (attempts === 2) released = admin.query('rollback')
    },
  })
  await assembly.service.dev[control]()
  await released
  // A rollback that itself takes long can come after the second wait.
  expect(attempts).toBeGreaterThanOrEqual(2)
})
