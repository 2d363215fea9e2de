import pg from 'pg'
import { describe, test } from 'vitest'
import type { AtEnd } from '../../../test/support/children.ts'
import { freshDatabase } from '../../../test/support/fresh-database.ts'
import { expectNothingConsumed } from '../support/nothing-consumed.ts'
import { startBalancer } from '../support/processes.ts'
import { assemble } from '../support/start.ts'
import { observe } from '../support/statements.ts'

/** A service of its own, which reaches its database through a way that can be cut. */
async function assembled(atEnd: AtEnd) {
  const database = await freshDatabase()
  atEnd(database.drop)
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  atEnd(() => admin.end())
  const balancer = await startBalancer()
  atEnd(balancer.close)
  const url = new URL(database.url)
  const { pathname, port } = url
  const serve = () => balancer.serve([`http://127.0.0.1:${port}`])
  serve()
  url.port = new URL(balancer.url).port
  // A code lives for as long as it may: the refused requests wait, and longer on a busy machine.
  const assembly = await assemble({ databaseUrl: url.href, passwordScheme: 'keyed', codeLifeMs: 600_000 })
  atEnd(assembly.service.close)
  return { assembly, service: assembly.service, admin, name: pathname.slice(1), cut: balancer.cut, serve }
}

const endConnections =
  'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()'

// Deadlines are real time: the tests wait for them side by side.
describe.concurrent('PostgreSQL', () => {
  test('out of reach: 503 with Retry-After, nothing consumed, and well again by itself', async ({ onTestFinished }) => {
    const { service, cut, serve } = await assembled(onTestFinished)
    await expectNothingConsumed(service, { harm: async () => cut(), mend: async () => serve() })
  })

  test('read-only: 503 with Retry-After, nothing consumed', async ({ expect, onTestFinished }) => {
    const { service, admin, name } = await assembled(onTestFinished)
    const setReadOnly = async (value: 'on' | 'off'): Promise<void> => {
      await admin.query(`alter database ${name} set default_transaction_read_only = ${value}`)
      await admin.query(endConnections)
      // The pool has to hear of it first.
      await expect.poll(async () => (await admin.query(endConnections)).rowCount).toBe(0)
    }
    await expectNothingConsumed(service, { harm: () => setReadOnly('on'), mend: () => setReadOnly('off') })
  })

  test('tables locked: 503 with Retry-After, nothing consumed', async ({ onTestFinished }) => {
    const { service, admin } = await assembled(onTestFinished)
    await expectNothingConsumed(service, {
      harm: async () => void (await admin.query('begin; lock table grants, authorization_codes, llm_models')),
      mend: async () => void (await admin.query('rollback')),
    })
  })

  test.for([
    ['reset', 'from "grants" for update'],
    ['expireAccessTokens', 'lock table "grants"'],
    ['revokeRefreshTokens', 'lock table "grants"'],
  ] as const)(
    '%s waits too long for a lock of another transaction, and begins again',
    async ([control, lock], { expect, onTestFinished }) => {
      const { assembly, admin } = await assembled(onTestFinished)
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
    },
  )
})
