import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import Database from 'libsql'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { freshDatabase } from '../../test/support/fresh-database.ts'
import type { Assembly } from '../src/app.ts'
import { failureOf } from '../src/store/failures.ts'
import type { TokenAnswer } from './login.ts'
import { authorize, Browser, callApi, clientOf, exchange, login, refresh } from './login.ts'
import { startBalancer } from './processes.ts'
import { assemble, isOnPostgres } from './start.ts'

let assembly: Assembly
const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

const newAgent = { path: '/api/parent_agents', body: { agent_name: 'N', description: 'x', parent_agent_type: 'x' } }

/**
 * While the database cannot be written: a refresh, a redemption, a create and a page are 503 and may come again. After
 * `mend` the same refresh token, code and agent name work as if nothing had been asked.
 */
async function expectNothingConsumed(harm: () => Promise<void>, mend: () => Promise<void>): Promise<void> {
  const { service } = assembly
  const client = clientOf(service, 'Demo public')
  const tokens = await login(service)
  const callback = await authorize(service)
  await harm()
  const refused = [await refresh(service, client, tokens.refresh_token), await exchange(service, callback)]
  for (const answer of refused) {
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await answer.json()).toMatchObject({ error: 'temporarily_unavailable' })
  }
  const created = await callApi(service, { token: tokens.access_token, ...newAgent })
  expect([created.status, created.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await created.json()).toMatchObject({ success: false, error_type: 'service_unavailable' })
  await mend()
  const rotated = await well(() => refresh(service, client, tokens.refresh_token))
  expect(rotated.status).toBe(200)
  const next = (await rotated.json()) as TokenAnswer
  expect((await refresh(service, client, next.refresh_token)).status).toBe(200)
  expect((await exchange(service, callback)).status).toBe(200)
  expect((await callApi(service, { token: tokens.access_token, ...newAgent })).status).toBe(200)
}

/** The first answer that is not 503: a connection that was ended can be noticed a moment later. */
async function well(ask: () => Promise<Response>): Promise<Response> {
  const answer = await ask()
  return answer.status === 503 ? vi.waitUntil(async () => notBusy(await ask()), { timeout: 5_000 }) : answer
}

function notBusy(answer: Response): Response | false {
  return answer.status !== 503 && answer
}

describe.runIf(!isOnPostgres())('a data file', () => {
  let dataFile: string
  beforeEach(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agent-service-unavailable-'))
    undo.push(() => rm(folder, { recursive: true }))
    dataFile = join(folder, 'data.db')
    assembly = await assemble({ dataFile, passwordScheme: 'keyed' })
    undo.push(assembly.service.close)
  })

  test('F-36 locked by another process: 503 with Retry-After, nothing consumed', async () => {
    const other = new Database(dataFile)
    undo.push(async () => other.close())
    await expectNothingConsumed(
      async () => void other.exec('begin immediate'),
      async () => void other.exec('rollback'),
    )
  }, 40_000)

  test('F-36 read-only: 503 with Retry-After, nothing consumed', async () => {
    const { db } = assembly.context.store
    await expectNothingConsumed(
      async () => void (await sql`pragma query_only = on`.execute(db)),
      async () => void (await sql`pragma query_only = off`.execute(db)),
    )
  })

  test('F-36 S-047 full: the refresh that no longer fits is 503, and its token goes on when there is room', async () => {
    const { service, context } = assembly
    const client = clientOf(service, 'Demo public')
    let { refresh_token: token } = await login(service)
    await sql`pragma max_page_count = 1`.execute(context.store.db)
    let answer = await refresh(service, client, token)
    for (let turn = 0; turn < 500 && answer.status === 200; turn += 1) {
      token = ((await answer.json()) as TokenAnswer).refresh_token
      answer = await refresh(service, client, token)
    }
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect((await refresh(service, client, token)).status).toBe(503)
    await sql`pragma max_page_count = 1073741823`.execute(context.store.db)
    answer = await refresh(service, client, token)
    expect(answer.status).toBe(200)
    const next = ((await answer.json()) as TokenAnswer).refresh_token
    expect((await refresh(service, client, next)).status).toBe(200)
  })
})

describe.runIf(isOnPostgres())('PostgreSQL', () => {
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
    assembly = await assemble({ databaseUrl: url.href, passwordScheme: 'keyed' })
    undo.push(assembly.service.close)
  })

  const endConnections =
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'

  test('F-36 out of reach: 503 with Retry-After, nothing consumed, and well again by itself', async () => {
    await expectNothingConsumed(
      async () => balancer.cut(),
      async () => balancer.serve([`http://127.0.0.1:${port}`]),
    )
  }, 40_000)

  test('F-36 read-only: 503 with Retry-After, nothing consumed', async () => {
    const setReadOnly = async (value: 'on' | 'off'): Promise<void> => {
      await admin.query(`alter database ${name} set default_transaction_read_only = ${value}`)
      await admin.query(endConnections)
      // The pool has to hear of it first.
      await expect.poll(async () => (await admin.query(endConnections)).rowCount).toBe(0)
    }
    await expectNothingConsumed(
      () => setReadOnly('on'),
      () => setReadOnly('off'),
    )
  })

  test('F-36 tables locked: 503 with Retry-After, nothing consumed', async () => {
    await expectNothingConsumed(
      async () => void (await admin.query('begin; lock table grants, authorization_codes, llm_models')),
      async () => void (await admin.query('rollback')),
    )
  }, 40_000)
})

test('F-36 a page says that the data cannot be reached, and a failed look-up is nobody’s failed attempt', async () => {
  assembly = await assemble()
  const { service, context } = assembly
  undo.push(service.close)
  const browser = new Browser(service.fetch)
  const client = clientOf(service, 'Demo confidential')
  const gone = Object.assign(new Error('the database went away'), { code: 'ECONNREFUSED' })
  const { selectFrom } = context.store.db
  context.store.db.selectFrom = () => {
    throw gone
  }
  for (let attempt = 0; attempt < 20; attempt += 1) {
    expect((await refresh(service, client, 'art_x')).status).toBe(503)
  }
  const page = await browser.get(`${service.authUrl}/auth/v1/authorize?client_id=x`)
  expect([page.status, page.response.headers.get('retry-after')]).toEqual([503, '1'])
  expect(page.html).toContain('cannot reach its data')
  context.store.db.selectFrom = selectFrom
  // Ten failures would have been followed by 429.
  expect((await refresh(service, client, 'art_x')).status).toBe(400)
})

test.each([
  [{ code: 'SQLITE_BUSY', rawCode: 5 }, 'unavailable'],
  [{ code: 'SQLITE_BUSY', rawCode: 517 }, 'conflict'],
  [{ code: 'SQLITE_IOERR_WRITE' }, 'unavailable'],
  [{ code: 'SQLITE_CONSTRAINT_UNIQUE' }, 'other'],
  [{ code: '40001' }, 'conflict'],
  [{ code: '40P01' }, 'conflict'],
  [{ code: '53100' }, 'unavailable'],
  [{ code: '57P01' }, 'unavailable'],
  [{ code: '23505' }, 'other'],
  [{ code: '42P01' }, 'other'],
  [{ code: 'ECONNRESET' }, 'unavailable'],
  [{ code: 'ERR_INVALID_ARG_TYPE' }, 'other'],
  [{ message: 'Connection terminated unexpectedly' }, 'unavailable'],
  [{ message: 'timeout exceeded when trying to connect' }, 'unavailable'],
  [{ message: 'anything else' }, 'other'],
])('F-36 %j is %s', (error, failure) => {
  expect(failureOf(Object.assign(new Error('message' in error ? error.message : ''), error))).toBe(failure)
  expect(failureOf(error)).toBe('other')
})
