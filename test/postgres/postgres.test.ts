import { randomUUID } from 'node:crypto'
import type { Session } from 'agent-auth'
import { type PostgresStorageOptions, postgresStorage } from 'agent-auth/postgres'
import pg from 'pg'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sessionName } from '../../src/session/record.ts'
import { storageSuite } from '../storage/storage-suite.ts'
import type { AtEnd } from '../support/children.ts'
import { databaseOfFile } from '../support/database-of-file.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { codeOf, sessionRig } from '../support/session-rig.ts'
import { onPool } from '../support/shared-stores.ts'
import { silentWay } from '../support/silent-way.ts'

const hour = 3_600_000
const retryable = { code: 'storage_failed', retryable: true }

const database = databaseOfFile()

function connected(options?: pg.PoolConfig, url = database.url, atEnd: AtEnd = onTestFinished) {
  const { client, storage, close } = onPool(new pg.Pool({ connectionString: url, max: 4, ...options }))
  atEnd(close)
  return { pool: client, storage }
}

/** Resolves when so many connections to this file's database wait for a lock of another one. */
async function lockWaits(count: number): Promise<void> {
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  const { pool } = connected({ max: 1 })
  await expect.poll(async () => (await pool.query(waiting)).rowCount).toBe(count)
}

/** A storage on a table of its own. */
function onTable(options: PostgresStorageOptions = {}, pool = connected().pool) {
  const table = `t_${randomUUID().replaceAll('-', '')}`
  return { table, pool, storage: postgresStorage(pool, { table, ...options }) }
}

/** Returns what a session of another process shows, or undefined if it cannot read its record. */
async function stateOf(session: Session): Promise<string | undefined> {
  return session.ready().then(
    ({ status }) => status,
    () => undefined,
  )
}

async function signedIn(storage: ReturnType<typeof onTable>['storage']) {
  const rig = sessionRig()
  const realm = rig.realm({ storage })
  const tokens = rig.service.issue()
  await realm.session.signIn(tokens)
  // A busy machine may take longer for the save than an operation of a storage may. Then a later call repeats it.
  for (let look = 0; (await stateOf(rig.realm({ storage }).session)) !== 'signed-in'; look++) {
    expect(look).toBeLessThan(20)
    rig.clock.advance(5_000)
    await realm.session.getAccessToken()
  }
  return { ...rig, ...realm, tokens }
}

describe('a small pool', () => {
  test.each([1, 2])('of %i: 8 expired sessions, 4 calls each: one refresh each, and every call ends', async (max) => {
    const { storage } = onTable({}, connected({ max }).pool)
    const { clock, service, realm } = sessionRig()
    const sessions: (readonly Session[])[] = []
    for (let index = 0; index < 8; index++) {
      const [here, there] = [realm({ storage, key: `${index}` }), realm({ storage, key: `${index}` })]
      await here.session.signIn(service.issue())
      await there.session.ready()
      sessions.push([here.session, there.session])
    }
    clock.advance(hour)
    const calls = sessions.flatMap((pair) => [...pair, ...pair].map((session) => session.getAccessToken()))
    expect(new Set(await Promise.all(calls)).size).toBe(8)
    expect(service.sent).toHaveLength(8)
  })

  test('no connection is held while a lock is', async () => {
    const { pool } = connected({ max: 1 })
    const { storage } = onTable({}, pool)
    await storage.withLock('name', async () => {
      expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }])
      await storage.withLock('another', async () => storage.setItem('another', 'written'))
    })
    expect(await storage.getItem('another')).toBe('written')
  })

  test('that the app has used up: retryable after 2.75 s, and it recovers', async () => {
    const { pool } = connected({ max: 1 })
    const { storage } = onTable({}, pool)
    await storage.setItem('name', 'value')
    const theirs = await pool.connect()
    await expect(storage.getItem('name')).rejects.toMatchObject(retryable)
    theirs.release()
    expect(await storage.getItem('name')).toBe('value')
  })
})

// Deadlines are real time: the tests wait for them side by side.
describe.concurrent('PostgreSQL that fails', () => {
  test('all connections lost under a lock: the holder goes on and commits', async ({ expect, onTestFinished }) => {
    const victim = connected({ application_name: 'victim' }, database.url, onTestFinished)
    const { storage } = onTable({}, victim.pool)
    const { clock, service, session, config, realm, eventsOf } = await signedIn(storage)
    const { pool: admin } = connected({}, database.url, onTestFinished)
    clock.advance(hour)
    const release = service.hold()
    const call = session.getAccessToken()
    await expect.poll(() => service.sent.length).toBe(1)
    const { rowCount } = await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'",
    )
    expect(rowCount).toBeGreaterThan(0)
    release()
    const token = await call
    // A pending write is repeated only when a token is asked for, and the first repetition may find a dead connection too.
    const saved = async () => {
      clock.advance(6_000)
      expect(await session.getAccessToken()).toBe(token)
      return storage.getItem(sessionName(config, 'default')).catch(() => null)
    }
    await expect.poll(saved, { interval: 500 }).toContain(token)
    expect(await realm({ storage }).session.getAccessToken()).toBe(token)
    expect(service.sent).toHaveLength(1)
    expect(eventsOf('session_ended')).toEqual([])
  })

  test('crashed: the token at hand, a retryable error, then back by itself', async ({ expect, onTestFinished }) => {
    const server = await startPostgres()
    onTestFinished(() => server.stop())
    // What was confirmed must be there after the crash, which the servers of tests do not promise by themselves.
    const { pool, storage } = connected({ options: '-c synchronous_commit=on' }, server.url, onTestFinished)
    const { clock, service, session, tokens, eventsOf } = await signedIn(storage)
    const { rows } = (await pool.query('select pg_backend_pid() as pid')) as { rows: { pid: number }[] }
    // Until another connection ends, the server has not noticed the crash and would answer as before.
    const witness = new pg.Client(server.url)
    await witness.connect()
    witness.on('error', () => {})
    const crashNoticed = new Promise((resolve) => witness.once('end', resolve))
    // A backend that dies takes all of them along: the server recovers from its log before it listens again.
    process.kill(rows[0]?.pid ?? Number.NaN, 'SIGKILL')
    await crashNoticed
    clock.advance(2_000)
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    await expect.poll(() => codeOf(storage.ready())).toEqual({ resolved: undefined })
    clock.advance(hour)
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
    expect(service.sent).toHaveLength(1)
    await server.stop()
    clock.advance(2_000)
    expect(service.familyOf(await session.getAccessToken())).toBe(1)
    await expect(storage.ready()).rejects.toMatchObject({
      ...retryable,
      message: expect.stringContaining('ECONNREFUSED'),
    })
    clock.advance(hour)
    await expect(session.getAccessToken()).rejects.toMatchObject(retryable)
    expect(session.state.status).toBe('signed-in')
    expect(eventsOf('session_ended')).toEqual([])
  })

  test.for(['stopped', 'silent'] as const)(
    '%s while the token has expired: the call fails within 6 s',
    async (how, { expect, onTestFinished }) => {
      const server = how === 'stopped' ? await startPostgres() : undefined
      if (server) onTestFinished(() => server.stop())
      const url = new URL((server ?? database).url)
      const way = await silentWay(Number(url.port), onTestFinished)
      url.port = String(way.port)
      const limits = { query_timeout: 3_500, connectionTimeoutMillis: 3_500 }
      const { clock, service, session } = await signedIn(connected(limits, url.href, onTestFinished).storage)
      if (server) await server.stop()
      // The pool opens a second connection for the second operation, if it has only one.
      else way.silenceAll()
      clock.advance(hour)
      const startMs = performance.now()
      await expect(session.getAccessToken()).rejects.toMatchObject(retryable)
      // Two operations wait 2.75 s each; a third one would make it 8.25 s.
      expect(performance.now() - startMs).toBeLessThan(8_000)
      expect(service.sent).toHaveLength(0)
    },
  )

  test('slow: no operation waits longer than 2.75 s for it, and it recovers', async ({ expect, onTestFinished }) => {
    const { table, pool, storage } = onTable({}, connected({}, database.url, onTestFinished).pool)
    const { clock, session, tokens } = await signedIn(storage)
    const blocker = await pool.connect()
    await blocker.query(`begin; lock table ${table} in access exclusive mode`)
    clock.advance(2_000)
    const startMs = performance.now()
    expect(await session.getAccessToken()).toBe(tokens.accessToken)
    const tookMs = performance.now() - startMs
    // One operation was waited for; a second one would make it 5.5 s.
    expect(tookMs).toBeGreaterThan(2_500)
    expect(tookMs).toBeLessThan(5_250)
    await expect(storage.withLock('name', async () => 'ran')).rejects.toMatchObject(retryable)
    await blocker.query('rollback')
    blocker.release()
    // The lock asked for in vain was given back as soon as it was granted.
    expect(await storage.withLock('name', async () => 'ran', { signal: AbortSignal.timeout(6_000) })).toBe('ran')
  })

  test('gone without a word: with query_timeout the pool serves again', async ({ expect, onTestFinished }) => {
    const url = new URL(database.url)
    const way = await silentWay(Number(url.port), onTestFinished)
    url.port = String(way.port)
    const { pool } = connected({ max: 1, query_timeout: 3_500 }, url.href, onTestFinished)
    const { storage } = onTable({}, pool)
    await storage.setItem('name', 'value')
    way.silence()
    await expect(storage.getItem('name')).rejects.toMatchObject(retryable)
    await expect.poll(() => codeOf(storage.getItem('name'))).toEqual({ resolved: 'value' })
  })
})

describe('a lock in PostgreSQL that is lost', () => {
  const storages = () => {
    const { table, pool, storage: one } = onTable()
    const loseLock = (name: string) => pool.query(`delete from ${table} where key = $1`, [`l:${name}`])
    return { pool, table, one, two: postgresStorage(connected().pool, { table }), loseLock }
  }

  test('the holder can neither write nor remove', async () => {
    const { one, two, loseLock } = storages()
    await two.setItem('name', 'before')
    await one.withLock('name', async () => {
      await one.setItem('name', 'while held')
      await one.setItem('another', 'while held')
      expect((await loseLock('name')).rowCount).toBe(1)
      await expect(one.setItem('name', 'after the loss')).rejects.toMatchObject(retryable)
      await expect(one.removeItem('name')).rejects.toMatchObject(retryable)
    })
    expect({ name: await two.getItem('name'), another: await two.getItem('another') }).toEqual({
      name: 'while held',
      another: 'while held',
    })
  })

  test('two holders: one commit, that of the one who has the lock, and its lock stays', async () => {
    const { one, two, loseLock, pool, table } = storages()
    const outcomes: unknown[] = []
    let next: Promise<void> | undefined
    let release = (): void => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    await one.withLock('name', async () => {
      await loseLock('name')
      next = two.withLock('name', async () => {
        outcomes.push(await codeOf(one.setItem('name', 'first')))
        outcomes.push(await codeOf(two.setItem('name', 'second')))
        await held
      })
      await expect.poll(() => outcomes.length).toBe(2)
    })
    expect(outcomes).toEqual(['storage_failed', { resolved: undefined }])
    expect((await pool.query(`select 1 from ${table} where key = 'l:name'`)).rowCount).toBe(1)
    release()
    await next
    expect(await one.getItem('name')).toBe('second')
    expect((await pool.query(`select 1 from ${table} where key = 'l:name'`)).rowCount).toBe(0)
  })

  test('a takeover waits for a write that is under way, and the write counts', async () => {
    const { one, pool, table } = storages()
    await one.setItem('name', 'before')
    const blocker = await pool.connect()
    await blocker.query(`begin; update ${table} set value = value where key = 'r:name'`)
    await one.withLock('name', async () => {
      const writing = one.setItem('name', 'by the holder')
      await lockWaits(1)
      const steal = pool.query(`update ${table} set value = 'thief' where key = 'l:name' returning clock_timestamp()`)
      // The write waits for the blocker, the takeover for the write.
      await lockWaits(2)
      await blocker.query('commit')
      await Promise.all([writing, steal])
      await expect(one.setItem('name', 'after the loss')).rejects.toMatchObject(retryable)
    })
    blocker.release()
    expect(await one.getItem('name')).toBe('by the holder')
  })
})

describe('the table', () => {
  test('is made at the first use, by many at once', async () => {
    const pools = Array.from({ length: 10 }, () => connected({ max: 1 }).pool)
    await Promise.all(pools.map((pool) => pool.query('select')))
    // Who loses such a race is told so in three ways: often enough, each of them comes.
    for (let round = 0; round < 20; round++) {
      const table = `t_${randomUUID().replaceAll('-', '')}`
      const storages = pools.map((pool) => postgresStorage(pool, { table }))
      await Promise.all(storages.map((storage, index) => storage.setItem(`${index}`, 'value')))
      expect(await Promise.all(storages.map((storage, index) => storage.getItem(`${index}`)))).toEqual(
        Array(10).fill('value'),
      )
    }
  })

  test('may lie in a schema, be mixed case and belong to another role', async () => {
    const { pool } = connected()
    await pool.query('create schema elsewhere')
    const storage = postgresStorage(pool, { table: 'elsewhere.Sessions' })
    await storage.setItem('name', 'value')
    expect((await pool.query('select value from elsewhere."Sessions"')).rows).toEqual([{ value: 'value' }])
    await pool.query('create role app login; grant usage on schema elsewhere to app')
    await pool.query('grant select, insert, update, delete on elsewhere."Sessions" to app')
    const { pool: asApp } = connected({ options: '-c role=app' })
    expect(await postgresStorage(asApp, { table: 'elsewhere.Sessions' }).getItem('name')).toBe('value')
    const missing = postgresStorage(asApp, { table: 'elsewhere.missing' }).ready()
    await expect(missing).rejects.toMatchObject({ ...retryable, message: expect.stringContaining('(42501)') })
  })

  test.each(['', 'a b', 'a"b', 'a;drop table x', "a'", 'a.b.c', '.a', 'a.', '1a', 'ä', 'a\u0000', 'x'.repeat(51)])(
    'cannot be named %j',
    (table) => {
      const { pool } = connected()
      expect(() => postgresStorage(pool, { table })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
    },
  )

  test.each([0, -1, 1.5, Number.NaN])('ttlMs %d is refused', (ttlMs) => {
    expect(() => onTable({ ttlMs })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })

  test('records expire ttlMs after their last write and are swept; without ttlMs they stay', async () => {
    const { table, pool, storage } = onTable()
    await storage.setItem('stays', 'value')
    const brief = postgresStorage(pool, { table, ttlMs: 60_000 })
    const rest = `select extract(epoch from expires_at - clock_timestamp())::float8 as s from ${table} where key = 'r:goes'`
    for (const write of [1, 2, 3]) {
      await brief.setItem('goes', `${write}`)
      const [row] = (await pool.query(rest)).rows
      expect(row.s).toBeGreaterThan(30)
      expect(row.s).toBeLessThanOrEqual(60)
      await pool.query(`update ${table} set expires_at = clock_timestamp() + interval '20 s' where key = 'r:goes'`)
    }
    expect(await brief.getItem('goes')).toBe('3')
    await pool.query(`update ${table} set expires_at = clock_timestamp() where key = 'r:goes'`)
    expect(await brief.getItem('goes')).toBeNull()
    await postgresStorage(pool, { table }).setItem('another', 'value')
    await expect
      .poll(async () => (await pool.query(`select key from ${table} order by key`)).rows)
      .toEqual([{ key: 'r:another' }, { key: 'r:stays' }])
  })

  test('a lock lasts 8 s while it is held and leaves nothing behind', async () => {
    const { table, pool, storage } = onTable()
    const rest = `select extract(epoch from expires_at - clock_timestamp())::float8 as s from ${table}`
    const restS = (): Promise<number> =>
      storage.withLock('name', async () => {
        const { rows } = await pool.query(rest)
        expect(rows).toHaveLength(1)
        return rows[0].s
      })
    // Some of it has passed when it is read; how much is up to the machine.
    await expect.poll(restS).toBeGreaterThan(7.9)
    expect(await restS()).toBeLessThanOrEqual(8)
    await storage.ready()
    expect((await pool.query(rest)).rows).toEqual([])
  })
})

for (const isolation of ['repeatable read', 'serializable'])
  storageSuite(`postgresStorage under ${isolation} by default`, () => {
    const options = `-c default_transaction_isolation=${isolation.replace(' ', '\\ ')}`
    const table = `t_${randomUUID().replaceAll('-', '')}`
    const pools = [1, 2, 3].map(() => new pg.Pool({ connectionString: database.url, options, max: 2 }))
    // The database may be dropped while the last connections close.
    for (const pool of pools) pool.on('connect', (client) => client.on('error', () => {}))
    let next = 0
    return {
      handle: () => postgresStorage(pools[next++ % 3] as pg.Pool, { table }),
      async close() {
        await Promise.all(pools.map((pool) => pool.end()))
      },
    }
  })
