// @module-tag database

import { DEFAULT_MIGRATION_TABLE, sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { timersOfWork } from '../../../test/support/timers-of-work.ts'
import type { Service } from '../../src/index.ts'
import { storeLimits } from '../../src/limits.ts'
import { listen, stop } from '../../src/server/listener.ts'
import { rawDatabase } from '../../src/store/database.ts'
import type { MissingPart } from '../../src/store/store.ts'
import { assemble, createService } from '../support/start.ts'
import { observe } from '../support/statements.ts'

/** How long a probe waits. */
const readyMs = 2_000

const hosts = ['authUrl', 'baseUrl'] as const

async function probe(service: Service, url: string): Promise<{ status: number; body: unknown }> {
  const response = await service.fetch(url)
  return { status: response.status, body: await response.json() }
}

test.each(hosts)(
  'a service that runs is alive and ready at %s, also by an address that is not its own',
  async (host) => {
    const service = await createService()
    onTestFinished(service.close)
    for (const headers of [{}, { host: '10.0.0.7:4001' }]) {
      const ask = (path: string) => service.fetch(service[host] + path, { headers })
      const [alive, ready] = [await ask('/healthz'), await ask('/readyz')]
      expect({ status: alive.status, body: await alive.json() }).toEqual({ status: 200, body: { status: 'alive' } })
      expect({ status: ready.status, body: await ready.json() }).toEqual({
        status: 200,
        body: { status: 'ready', missing: [] },
      })
      expect({
        alive: alive.headers.get('cache-control'),
        ready: ready.headers.get('cache-control'),
      }).toEqual({ alive: 'no-store', ready: 'no-store' })
    }
    expect((await service.fetch(`${service[host]}/healthz`, { method: 'HEAD' })).status).toBe(200)
  },
)

test('probes are in no journal, and no fault of a test meets them', async () => {
  const service = await createService()
  onTestFinished(service.close)
  service.dev.addFault({ effect: { status: 500 } })
  for (const path of ['/healthz', '/readyz'])
    for (const host of hosts) expect((await service.fetch(service[host] + path)).status).toBe(200)
  expect(service.dev.journal()).toEqual([])
})

test('readyz names the database that does not answer, healthz stays alive, and both recover', async () => {
  const assembly = await assemble()
  const { service } = assembly
  onTestFinished(service.close)
  let state: 'away' | 'back' = 'away'
  observe(assembly, {
    before() {
      if (state === 'away') throw Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
    },
  })
  for (const host of hosts) {
    const response = await service.fetch(`${service[host]}/readyz`)
    expect({
      status: response.status,
      retryAfter: response.headers.get('retry-after'),
      body: await response.json(),
    }).toEqual({ status: 503, retryAfter: '1', body: { status: 'not-ready', missing: ['database'] } })
    expect((await service.fetch(`${service[host]}/healthz`)).status).toBe(200)
  }
  state = 'back'
  expect(await probe(service, `${service.authUrl}/readyz`)).toEqual({
    status: 200,
    body: { status: 'ready', missing: [] },
  })
})

test('readyz names migrations if the tables are those of another version', async () => {
  const { service, context } = await assemble()
  onTestFinished(service.close)
  const db = rawDatabase(context.store.db)
  const table = sql.table(DEFAULT_MIGRATION_TABLE)
  await sql`insert into ${table} (name, timestamp) values ('999-later', '2030')`.execute(db)
  expect(await probe(service, `${service.authUrl}/readyz`)).toEqual({
    status: 503,
    body: { status: 'not-ready', missing: ['migrations'] },
  })
  await sql`delete from ${table} where name = '999-later'`.execute(db)
})

test('probes at the same time share one look at the database', async () => {
  const assembly = await assemble()
  onTestFinished(assembly.service.close)
  let statements = 0
  observe(assembly, { before: () => void statements++ })
  const ask = () => assembly.service.fetch(`${assembly.service.authUrl}/readyz`)
  await Promise.all(Array.from({ length: 20 }, ask))
  expect(statements).toBe(1)
})

test('probes of a database that hangs end after two seconds each and wait for one query, until its time has passed', async () => {
  const { service, context } = await assemble()
  onTestFinished(service.close)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const begun: ((parts: MissingPart[]) => void)[] = []
  context.store.missing = () => new Promise((resolve) => begun.push(resolve))
  const timers = timersOfWork()
  const ask = () => timers.run(() => probe(service, `${service.authUrl}/readyz`))
  const probeFor = async (ms: number): Promise<unknown> => {
    const before = timers.pendingCount()
    const answer = ask()
    await expect.poll(timers.pendingCount).toBeGreaterThan(before)
    await vi.advanceTimersByTimeAsync(ms)
    return answer
  }
  const away = { status: 503, body: { status: 'not-ready', missing: ['database'] } }
  const probes = storeLimits.statementMs / readyMs
  for (let at = 0; at < probes; at += 1) expect(await probeFor(readyMs)).toEqual(away)
  expect({ queries: begun.length, timers: timers.pendingCount() }).toEqual({ queries: 1, timers: 0 })
  const answer = ask()
  await expect.poll(() => begun.length).toBe(2)
  begun[1]?.([])
  expect(await answer).toEqual({ status: 200, body: { status: 'ready', missing: [] } })
  expect(timers.pendingCount()).toBe(0)
})

test.each(['auth', 'base'] as const)(
  'a host that is starting is alive, and says that the start is missing (%s)',
  async (origin) => {
    const { server, url } = await listen(0, { origin })
    onTestFinished(() => stop(server))
    const [alive, ready] = await Promise.all(['/healthz', '/readyz'].map((path) => fetch(url + path)))
    expect({ status: alive?.status, body: await alive?.json() }).toEqual({ status: 200, body: { status: 'alive' } })
    expect({ status: ready?.status, body: await ready?.json() }).toEqual({
      status: 503,
      body: { status: 'not-ready', missing: ['start'] },
    })
  },
)
