// @module-tag database

import { beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { purge } from '../../src/store/purge.ts'
import {
  agentSearch,
  authorize,
  type Callback,
  callApi,
  clientOf,
  errorOf,
  exchange,
  login,
  type TokenAnswer,
} from '../support/login.ts'
import { oneAssembly } from '../support/one-service.ts'
import { createService } from '../support/start.ts'
import { unlessTooBusy } from '../support/too-busy.ts'

let assembly: Assembly
let service: Service
const fresh = oneAssembly()
beforeEach(async () => {
  assembly = await fresh()
  service = assembly.service
})

async function expectInvalidGrant(answer: Response): Promise<void> {
  expect({ status: answer.status, error: await errorOf(answer) }).toEqual({ status: 400, error: 'invalid_grant' })
}

async function apiStatus(answer: Response): Promise<number> {
  const { access_token } = (await answer.json()) as TokenAnswer
  return (await callApi(service, { token: access_token, path: agentSearch, body: {} })).status
}

test('a code has 256 random bits and is stored as a hash only', async () => {
  const { code } = await authorize(service)
  expect(code).toMatch(/^aac_[A-Za-z0-9_-]{43}$/)
  const rows = await rawDatabase(assembly.context.store.db).selectFrom('authorization_codes').selectAll().execute()
  expect(JSON.stringify(rows)).not.toContain(code.slice(4, 20))
})

test('a code lives 60 s, and no configuration makes it more than 600', async () => {
  service.dev.freeze()
  const early = await authorize(service)
  const late = await authorize(service)
  service.dev.advance(59_999)
  expect((await exchange(service, early)).status).toBe(200)
  service.dev.advance(1)
  await expectInvalidGrant(await exchange(service, late))
  await expect(createService({ codeLifeMs: 600_001 })).rejects.toThrow('codeLifeMs')
})

const bindings: [string, (callback: Callback) => [Callback, Record<string, string | undefined>]][] = [
  ['client', (callback) => [{ ...callback, client: clientOf(service, 'Other public') }, {}]],
  ['redirect URI', (callback) => [callback, { redirect_uri: 'http://127.0.0.1/callback' }]],
  ['verifier', (callback) => [callback, { code_verifier: 'a'.repeat(43) }]],
]

test.each(bindings)('a code does not work with another %s', async (_, change) => {
  const callback = await authorize(service)
  await expectInvalidGrant(await exchange(service, ...change(callback)))
  expect((await exchange(service, callback)).status).toBe(200)
})

test.each([{ active: 0 } as const, { tenant_id: 'other' }])('a code dies with %o of its person', async (change) => {
  const callback = await authorize(service)
  await rawDatabase(assembly.context.store.db)
    .updateTable('people')
    .set(change)
    .where('email', 'like', 'ada%')
    .execute()
  await expectInvalidGrant(await exchange(service, callback))
})

test('of 50 redemptions at once one succeeds', async () => {
  for (let round = 0; round < 5; round += 1) {
    const callback = await authorize(service)
    const redeem = () => unlessTooBusy(() => exchange(service, callback))
    const answers = await Promise.all(Array.from({ length: 50 }, redeem))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(49)
  }
})

test('a fully valid replay is refused and revokes what the code gave', async () => {
  const callback = await authorize(service)
  const first = await exchange(service, callback)
  const other = await login(service)
  await expectInvalidGrant(await exchange(service, callback))
  expect(await apiStatus(first)).toBe(401)
  expect((await callApi(service, { token: other.access_token, path: agentSearch, body: {} })).status).toBe(200)
  const events = service.dev.journal().flatMap((entry) => (entry.kind === 'event' ? entry.event : []))
  expect(events.filter((event) => event === 'code_replayed')).toHaveLength(1)
})

test.each(bindings)('a replay with another %s is refused and revokes nothing', async (_, change) => {
  const callback = await authorize(service)
  const first = await exchange(service, callback)
  await expectInvalidGrant(await exchange(service, ...change(callback)))
  expect(await apiStatus(first)).toBe(200)
})

test.each([
  [4, 200],
  [5, 400],
])('after %i failed attempts the right one gets %i', async (failures, status) => {
  const callback = await authorize(service)
  const wrong = { code_verifier: 'b'.repeat(43) }
  for (let failure = 0; failure < failures; failure += 1)
    await expectInvalidGrant(await exchange(service, callback, wrong))
  expect((await exchange(service, callback)).status).toBe(status)
})

test.each(['', 'a', 'a'.repeat(42), 'a'.repeat(129), `${'a'.repeat(43)}!`, `${'a'.repeat(43)}\n`])(
  'the verifier %j is refused',
  async (verifier) => {
    await expectInvalidGrant(await exchange(service, await authorize(service), { code_verifier: verifier }))
  },
)

test('the grammar is checked before the hash: a short verifier that fits its challenge is refused', async () => {
  const { createHash } = await import('node:crypto')
  const challenge = (verifier: string) => createHash('sha256').update(verifier).digest('base64url')
  for (const [length, status] of [
    [42, 400],
    [43, 200],
    [128, 200],
    [129, 400],
  ] as const) {
    const verifier = 'v'.repeat(length)
    const callback = await authorize(service, { parameters: { code_challenge: challenge(verifier) } })
    expect((await exchange(service, callback, { code_verifier: verifier })).status).toBe(status)
  }
})

test('a verifier is needed exactly when there was a challenge', async () => {
  const client = clientOf(service, 'Demo confidential')
  const withPkce = await authorize(service, { client })
  await expectInvalidGrant(await exchange(service, withPkce))
  expect((await exchange(service, withPkce, { code_verifier: withPkce.verifier })).status).toBe(200)
  const without = await authorize(service, { client, pkce: 'without' })
  await expectInvalidGrant(await exchange(service, without, { code_verifier: without.verifier }))
  expect((await exchange(service, without)).status).toBe(200)
})

test('a used code is remembered after the cleaning, until its grant has expired', async () => {
  const callback = await authorize(service)
  const first = await exchange(service, callback)
  const { store, clock } = assembly.context
  service.dev.advance(9 * 60_000)
  await purge(store.db, clock.nowMs())
  await expectInvalidGrant(await exchange(service, callback))
  expect(await apiStatus(first)).toBe(401)
  service.dev.advance(24 * 60 * 60_000)
  await purge(store.db, clock.nowMs())
  for (const table of ['authorization_codes', 'grants', 'refresh_tokens', 'access_tokens'] as const) {
    expect(await rawDatabase(store.db).selectFrom(table).selectAll().execute()).toEqual([])
  }
})

test('requests clean up by themselves, at most once a minute', async () => {
  service.dev.freeze()
  const db = rawDatabase(assembly.context.store.db)
  const expire = () => db.updateTable('authorization_codes').set({ keep_until_ms: 1 }).execute()
  await authorize(service)
  await expire()
  service.dev.advance(61_000)
  await authorize(service)
  expect(await db.selectFrom('authorization_codes').selectAll().execute()).toHaveLength(1)
  await expire()
  service.dev.advance(59_000)
  await authorize(service)
  expect(await db.selectFrom('authorization_codes').selectAll().execute()).toHaveLength(2)
})

test('time never goes back', () => {
  expect(() => service.dev.advance(-1)).toThrow(RangeError)
  service.dev.advance(60_000)
  const beforeMs = service.dev.nowMs()
  service.dev.freeze()
  expect(service.dev.nowMs()).toBeGreaterThanOrEqual(beforeMs)
})

test.each([
  ['clients', { active: 0 }],
  ['client_approvals', { active: 0 }],
  ['client_approvals', { surfaces: '["files"]' }],
] as const)('a code is not redeemed when %s says %o', async (table, change) => {
  const callback = await authorize(service)
  await rawDatabase(assembly.context.store.db).updateTable(table).set(change).execute()
  const answer = await exchange(service, callback)
  expect({ status: answer.status, error: await errorOf(answer) }).toEqual({ status: 400, error: 'unauthorized_client' })
})
