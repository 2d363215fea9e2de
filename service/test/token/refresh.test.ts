// @module-tag database

import { decodeJwt, decodeProtectedHeader } from 'jose'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Client, Service, ServiceOptions } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { purge } from '../../src/store/purge.ts'
import type { Tables } from '../../src/store/schema.ts'
import { agentSearch, callApi, clientOf, errorOf, login, refresh, type TokenAnswer } from '../support/login.ts'
import { oneAssembly } from '../support/one-service.ts'
import { assemble } from '../support/start.ts'
import { unlessTooBusy } from '../support/too-busy.ts'

let assembly: Assembly
let service: Service
let client: Client
const fresh = oneAssembly()
beforeEach(async () => use(await fresh()))

function use(started: Assembly): void {
  assembly = started
  service = assembly.service
  client = clientOf(service, 'Demo public')
  service.dev.freeze()
}

async function useOwn(options: ServiceOptions): Promise<void> {
  use(await assemble(options))
  onTestFinished(service.close)
}

async function rotate(refreshToken: string): Promise<TokenAnswer> {
  const answer = await refresh(service, client, refreshToken)
  expect(answer.status).toBe(200)
  return (await answer.json()) as TokenAnswer
}

async function expectRefused(refreshToken: string, error = 'invalid_grant'): Promise<void> {
  const answer = await refresh(service, client, refreshToken)
  expect({ status: answer.status, error: await errorOf(answer) }).toEqual({ status: 400, error })
}

async function apiStatus(token: string): Promise<number> {
  return (await callApi(service, { token, path: agentSearch, body: {} })).status
}

const hourMs = 60 * 60_000

test('the database holds no token', async () => {
  const tokens = await login(service)
  const { refresh_token, access_token } = await rotate(tokens.refresh_token)
  const db = rawDatabase(assembly.context.store.db)
  const rows: Record<string, unknown[]> = {}
  for (const { name } of await db.introspection.getTables()) {
    rows[name] = await db
      .selectFrom(name as keyof Tables)
      .selectAll()
      .execute()
  }
  expect(rows).toMatchObject({
    refresh_tokens: [{}, {}],
    access_tokens: [{}, {}],
    authorization_codes: [{}],
    sign_in_sessions: [{}],
  })
  const dump = JSON.stringify(rows)
  for (const token of [tokens.refresh_token, tokens.access_token, refresh_token, access_token]) {
    expect(dump).not.toContain(token.slice(-20))
  }
})

test('an access token is an at+jwt with tenant and permissions', async () => {
  const { access_token } = await login(service)
  expect(decodeProtectedHeader(access_token)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' })
  const claims = decodeJwt(access_token)
  expect(claims).toMatchObject({
    iss: service.authUrl,
    aud: service.baseUrl,
    client_id: client.clientId,
    tenant: 'demo',
  })
  expect(claims.permissions).toEqual(service.people[0]?.permissions)
  expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBeGreaterThanOrEqual(600)
  expect(claims).not.toHaveProperty('email')
})

test('with profile claims, access tokens have the name and the email of the user, also after a refresh', async () => {
  await useOwn({ tokenClaims: 'profile' })
  const tokens = await login(service)
  const who = { name: 'Ada Admin', email: 'ada@demo.example' }
  expect(decodeJwt(tokens.access_token)).toMatchObject(who)
  expect(decodeJwt((await rotate(tokens.refresh_token)).access_token)).toMatchObject(who)
})

test('each refresh gives a new pair, and one transaction takes the old and makes the new', async () => {
  const first = await login(service)
  const second = await rotate(first.refresh_token)
  expect(second.refresh_token).not.toBe(first.refresh_token)
  expect(second.access_token).not.toBe(first.access_token)
  expect(second).toMatchObject({ token_type: 'Bearer', expires_in: 600, scope: 'api.access' })
  await rawDatabase(assembly.context.store.db).schema.alterTable('access_tokens').renameTo('gone').execute()
  expect((await refresh(service, client, second.refresh_token)).status).toBe(500)
  await rawDatabase(assembly.context.store.db).schema.alterTable('gone').renameTo('access_tokens').execute()
  // The failed turn left nothing behind: the token is unused and its next use is an ordinary one.
  const third = await rotate(second.refresh_token)
  expect(third.refresh_token).not.toBe(second.refresh_token)
})

test('without rotation the refresh token stays valid, and each use restarts its 8 idle hours', async () => {
  await useOwn({ rotation: 'none' })
  const first = await login(service)
  for (let turn = 0; turn < 3; turn += 1) {
    service.dev.advance(5 * hourMs)
    const answer = await rotate(first.refresh_token)
    expect(answer.refresh_token).toBeUndefined()
    expect(await apiStatus(answer.access_token)).toBe(200)
  }
})

test('the predecessor gives the same pair while the successor is unused', async () => {
  const { refresh_token } = await login(service)
  const second = await rotate(refresh_token)
  service.dev.advance(29_999)
  const again = await rotate(refresh_token)
  expect({ refresh_token: again.refresh_token, access_token: again.access_token }).toEqual({
    refresh_token: second.refresh_token,
    access_token: second.access_token,
  })
  expect(again.expires_in).toBe(570)
  expect(await apiStatus(again.access_token)).toBe(200)
})

test('ten uses at once all get the same successor', async () => {
  const { refresh_token } = await login(service)
  const use = () => unlessTooBusy(() => refresh(service, client, refresh_token))
  const answers = await Promise.all(Array.from({ length: 10 }, use))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  const pairs = (await Promise.all(answers.map((answer) => answer.json()))) as TokenAnswer[]
  expect(new Set(pairs.map((pair) => pair.refresh_token)).size).toBe(1)
  await rotate(pairs[0]?.refresh_token ?? '')
})

test('31 s later it is reuse: the family ends, other grants live', async () => {
  const other = await login(service)
  const { refresh_token } = await login(service)
  const second = await rotate(refresh_token)
  service.dev.advance(30_000)
  await expectRefused(refresh_token)
  expect(await apiStatus(second.access_token)).toBe(401)
  await expectRefused(second.refresh_token)
  expect(await apiStatus(other.access_token)).toBe(200)
  await rotate(other.refresh_token)
  const events = service.dev
    .journal()
    .filter((entry) => entry.kind === 'event' && entry.event === 'refresh_token_reused')
  expect(events).toHaveLength(1)
})

test.each([
  ['its client is inactive', 'clients', 'unauthorized_client'],
  ['its person is disabled', 'people', 'invalid_grant'],
] as const)('reuse while %s ends the family for good, and is logged', async (_, table, graceError) => {
  const db = rawDatabase(assembly.context.store.db)
  const setActive = (active: 0 | 1) => db.updateTable(table).set({ active }).execute()
  const { refresh_token } = await login(service)
  const second = await rotate(refresh_token)
  await setActive(0)
  // Within the grace period it is no reuse, and without standing there is no pair either.
  await expectRefused(refresh_token, graceError)
  service.dev.advance(30_000)
  await expectRefused(refresh_token)
  await setActive(1)
  expect(await apiStatus(second.access_token)).toBe(401)
  await expectRefused(second.refresh_token)
  const events = service.dev.journal().flatMap((entry) => (entry.kind === 'event' ? [entry.event] : []))
  expect(events.filter((event) => event === 'refresh_token_reused')).toHaveLength(1)
})

test('where the access token of the pair has ended, the same refresh token comes with a live one', async () => {
  const { refresh_token } = await login(service)
  const second = await rotate(refresh_token)
  await service.dev.expireAccessTokens()
  const again = await rotate(refresh_token)
  expect({ refresh_token: again.refresh_token, expires_in: again.expires_in }).toEqual({
    refresh_token: second.refresh_token,
    expires_in: 600,
  })
  expect(await apiStatus(again.access_token)).toBe(200)
  expect(await apiStatus(second.access_token)).toBe(401)
  await rotate(again.refresh_token)
})

test('nothing older than the immediate predecessor is accepted', async () => {
  const first = await login(service)
  const second = await rotate(first.refresh_token)
  const third = await rotate(second.refresh_token)
  await expectRefused(first.refresh_token)
  expect(await apiStatus(third.access_token)).toBe(401)
  await expectRefused(third.refresh_token)
})

test('without grace every second use is reuse', async () => {
  await useOwn({ graceMs: 0 })
  const { refresh_token } = await login(service)
  const second = await rotate(refresh_token)
  await expectRefused(refresh_token)
  await expectRefused(second.refresh_token)
})

test('the predecessor does not help another client', async () => {
  const { refresh_token } = await login(service)
  await rotate(refresh_token)
  const answer = await refresh(service, clientOf(service, 'Other public'), refresh_token)
  expect({ status: answer.status, error: await errorOf(answer) }).toEqual({ status: 400, error: 'invalid_grant' })
  await rotate(refresh_token)
})

test('the kept successor opens with the old token only', async () => {
  const { refresh_token } = await login(service)
  const second = await rotate(refresh_token)
  const { decrypt } = await import('../../src/credentials/tokens.ts')
  const row = await rawDatabase(assembly.context.store.db)
    .selectFrom('refresh_tokens')
    .select('successor_sealed')
    .where('successor_sealed', 'is not', null)
    .executeTakeFirstOrThrow()
  expect(() => decrypt(second.refresh_token, row.successor_sealed ?? '')).toThrow()
  expect(decrypt(refresh_token, row.successor_sealed ?? '')).toContain(second.refresh_token)
})

test('the absolute life of a public grant is 24 h, also after rotations', async () => {
  let { refresh_token } = await login(service)
  for (let turn = 0; turn < 4; turn += 1) {
    service.dev.advance(5 * hourMs + 59 * 60_000)
    refresh_token = (await rotate(refresh_token)).refresh_token
  }
  service.dev.advance(4 * 60_000)
  await expectRefused(refresh_token)
})

test('an access token ends with its grant, and expires_in says so', async () => {
  client = clientOf(service, 'Demo confidential')
  const { refresh_token } = await login(service, { client })
  service.dev.advance(30 * 24 * hourMs - 5 * 60_000)
  const { access_token, expires_in, refresh_token: next } = await rotate(refresh_token)
  expect({ expiresIn: expires_in, status: await apiStatus(access_token) }).toEqual({ expiresIn: 300, status: 200 })
  service.dev.advance(5 * 60_000 - 400)
  const last = await rotate(next)
  expect({ expiresIn: last.expires_in, status: await apiStatus(last.access_token) }).toEqual({
    expiresIn: 0,
    status: 200,
  })
  service.dev.advance(400)
  expect({ first: await apiStatus(access_token), last: await apiStatus(last.access_token) }).toEqual({
    first: 401,
    last: 401,
  })
})

test('a public refresh token idles out after 8 h, a confidential one does not', async () => {
  const confidential = clientOf(service, 'Demo confidential')
  const own = await login(service)
  const theirs = await login(service, { client: confidential })
  service.dev.advance(8 * hourMs)
  await expectRefused(own.refresh_token)
  expect((await refresh(service, confidential, theirs.refresh_token)).status).toBe(200)
})

test('a confidential grant ends after 30 d', async () => {
  client = clientOf(service, 'Demo confidential')
  let { refresh_token } = await login(service, { client })
  service.dev.advance(29 * 24 * hourMs)
  refresh_token = (await rotate(refresh_token)).refresh_token
  service.dev.advance(24 * hourMs)
  await expectRefused(refresh_token)
})

test('a spent token of a grant that is over, but not cleaned away yet, is no reuse', async () => {
  const { refresh_token } = await login(service)
  await rotate(refresh_token)
  service.dev.advance(24 * hourMs - 1_000)
  // Whoever comes now starts the cleaning; for a minute there is no other.
  await service.fetch(service.authUrl)
  service.dev.advance(1_000)
  await expectRefused(refresh_token)
  const reuses = (): number =>
    service.dev.journal().filter((entry) => entry.kind === 'event' && entry.event === 'refresh_token_reused').length
  expect(reuses()).toBe(0)
  // A rotated token of a grant that goes on is reuse, under the same name.
  const next = await login(service)
  await rotate(next.refresh_token)
  service.dev.advance(30_000)
  await expectRefused(next.refresh_token)
  expect(reuses()).toBe(1)
})

test('rotated tokens are remembered after the cleaning', async () => {
  const first = await login(service)
  let latest = first
  for (let turn = 0; turn < 3; turn += 1) {
    service.dev.advance(6 * hourMs)
    await purge(assembly.context.store.db, service.dev.nowMs())
    latest = await rotate(latest.refresh_token)
  }
  await expectRefused(first.refresh_token)
  expect(await apiStatus(latest.access_token)).toBe(401)
})

test.each(['api.access', 'api.access api.access', ''])(
  'a refresh that names the scope it has is 200: %j',
  async (scope) => {
    const { refresh_token } = await login(service)
    const answer = await refresh(service, client, refresh_token, { scope })
    const { scope: given, refresh_token: next } = (await answer.json()) as TokenAnswer
    expect({ status: answer.status, scope: given, isSame: next === refresh_token }).toEqual({
      status: 200,
      scope: 'api.access',
      isSame: false,
    })
    // The same once more, within the grace period.
    const again = await refresh(service, client, refresh_token, { scope })
    expect({ status: again.status, refresh_token: ((await again.json()) as TokenAnswer).refresh_token }).toEqual({
      status: 200,
      refresh_token: next,
    })
  },
)

test('a wider scope neither uses the token nor hides that it came again', async () => {
  const { refresh_token } = await login(service)
  const second = await rotate(refresh_token)
  const inGrace = await refresh(service, client, refresh_token, { scope: 'admin' })
  expect({ status: inGrace.status, error: await errorOf(inGrace) }).toEqual({ status: 400, error: 'invalid_scope' })
  const third = await rotate(second.refresh_token)
  const replayed = await refresh(service, client, refresh_token, { scope: 'admin' })
  expect({ status: replayed.status, error: await errorOf(replayed) }).toEqual({ status: 400, error: 'invalid_grant' })
  await expectRefused(third.refresh_token)
})

test('a refresh token belongs to its client and keeps its scope', async () => {
  const { refresh_token } = await login(service)
  const answer = await refresh(service, clientOf(service, 'Other confidential'), refresh_token)
  expect({ status: answer.status, error: await errorOf(answer) }).toEqual({ status: 400, error: 'invalid_grant' })
  for (const scope of ['api.access admin', 'admin', 'API.ACCESS', 'api.access ', ' ', 'api.access  api.access']) {
    const wider = await refresh(service, client, refresh_token, { scope })
    expect({ scope, status: wider.status, error: await errorOf(wider) }).toEqual({
      scope,
      status: 400,
      error: 'invalid_scope',
    })
  }
  expect((await rotate(refresh_token)).scope).toBe('api.access')
})

test('an access token lives 10 minutes to the millisecond', async () => {
  const { access_token } = await login(service)
  service.dev.advance(599_999)
  expect(await apiStatus(access_token)).toBe(200)
  service.dev.advance(1)
  expect(await apiStatus(access_token)).toBe(401)
})

test.each([
  ['the person is disabled', 'people', { active: 0 }, 401],
  ['the tenant is disabled', 'tenants', { active: 0 }, 401],
  ['the grant is revoked', 'grants', { revoked_ms: 1 }, 401],
  ['the client is deactivated', 'clients', { active: 0 }, 403],
  ['the approval is withdrawn', 'client_approvals', { active: 0 }, 403],
  ['the person loses the permission', 'people', { permissions: '["api.access"]' }, 403],
] as const)('when %s the next request is refused', async (_, table, change, status) => {
  const { access_token } = await login(service)
  expect(await apiStatus(access_token)).toBe(200)
  await rawDatabase(assembly.context.store.db).updateTable(table).set(change).execute()
  expect(await apiStatus(access_token)).toBe(status)
})

test.each([
  ['the person is disabled', 'people', { active: 0 }, 'invalid_grant'],
  ['the person moves to another tenant', 'people', { tenant_id: 'other' }, 'invalid_grant'],
  ['the tenant is closed', 'tenants', { active: 0 }, 'invalid_grant'],
  ['the client is deactivated', 'clients', { active: 0 }, 'unauthorized_client'],
  ['the approval is withdrawn', 'client_approvals', { active: 0 }, 'unauthorized_client'],
  ['the api surface is gone', 'client_approvals', { surfaces: '[]' }, 'unauthorized_client'],
] as const)('no refresh when %s', async (_, table, change, error) => {
  const { refresh_token } = await login(service)
  await rawDatabase(assembly.context.store.db).updateTable(table).set(change).execute()
  await expectRefused(refresh_token, error)
})

test('the dev controls expire access tokens and revoke refresh tokens, each alone', async () => {
  const tokens = await login(service)
  await service.dev.revokeRefreshTokens()
  expect(await apiStatus(tokens.access_token)).toBe(200)
  await expectRefused(tokens.refresh_token)
  const next = await login(service)
  await service.dev.expireAccessTokens()
  expect(await apiStatus(next.access_token)).toBe(401)
  expect(await apiStatus((await rotate(next.refresh_token)).access_token)).toBe(200)
})
