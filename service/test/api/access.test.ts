import { generateKeyPair, SignJWT } from 'jose'
import { beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { hashToken, rawDatabase } from '../../src/store/database.ts'
import { agentSearch, callApi, login, personOf } from '../support/login.ts'
import { oneAssembly } from '../support/one-service.ts'
import { assemble } from '../support/start.ts'

let assembly: Assembly
let service: Service
let token: string
const fresh = oneAssembly()
beforeEach(async () => {
  assembly = await fresh()
  service = assembly.service
  token = (await login(service)).access_token
})

const unauthenticated = {
  success: false,
  data: {},
  error_type: 'authentication_error',
  error_message: 'invalid authentication credentials',
}
const endpoints = [
  ['GET', '/api/parent_agents/1/state_function/context_variables'],
  ['POST', agentSearch],
  ['POST', '/api/parent_agents'],
  ['POST', '/api/llm_models/search'],
] as const

function call(method: string, path: string, headers: Record<string, string>, body = '{}'): Promise<Response> {
  const content: Record<string, string> = method === 'GET' ? {} : { 'content-type': 'application/json' }
  return service.fetch(service.baseUrl + path, {
    method,
    headers: { ...content, ...headers },
    body: method === 'GET' ? null : body,
  })
}

async function expectForbidden(bearer: string, message: string, [method, path]: readonly string[] = endpoints[1]) {
  const answer = await call(method ?? '', path ?? '', { authorization: `Bearer ${bearer}` }, '{"limit":0}')
  expect(answer.status).toBe(403)
  expect(await answer.json()).toEqual({
    success: false,
    data: {},
    error_type: message.includes('billing') ? 'billing_error' : 'permission_error',
    error_message: message,
  })
}

test.each(endpoints)('%s %s without credentials is 401 with a bare challenge', async (method, path) => {
  const answer = await call(method, path, {})
  expect({ status: answer.status, wwwAuthenticate: answer.headers.get('www-authenticate') }).toEqual({
    status: 401,
    wwwAuthenticate: 'Bearer',
  })
  expect(await answer.json()).toEqual(unauthenticated)
})

test.each([
  ['doubled', () => `Bearer ${token}, Bearer ${token}`],
  ['Basic', () => 'Basic YTpi'],
  ['without a token', () => 'Bearer'],
  ['with two spaces', () => `Bearer  ${token}`],
  ['with a tail', () => `Bearer ${token} x`],
  ['with a comma', () => `Bearer ${token},`],
  ['with something else', () => 'Bearer x'],
  ['with one character changed', () => `Bearer ${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`],
])('a header %s is 401 invalid_token', async (_, header) => {
  const answer = await call('POST', agentSearch, { authorization: header() })
  expect({ status: answer.status, wwwAuthenticate: answer.headers.get('www-authenticate') }).toEqual({
    status: 401,
    wwwAuthenticate: 'Bearer error="invalid_token"',
  })
  expect(await answer.json()).toEqual(unauthenticated)
})

test('the scheme is read in any case, tokens in query and body are not read', async () => {
  expect((await call('POST', agentSearch, { authorization: `bEARER ${token}` })).status).toBe(200)
  const body = JSON.stringify({ access_token: token })
  expect((await call('POST', `${agentSearch}?access_token=${token}`, {}, body)).status).toBe(401)
})

test('a JWT of our own key that was never issued is 401', async () => {
  const forged = await new SignJWT({ tenant: 'demo', permissions: ['api.access'], client_id: 'x' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
    .setIssuer(service.authUrl)
    .setAudience(service.baseUrl)
    .setSubject('x')
    .setExpirationTime('1h')
    .sign(assembly.context.keys.signingKey)
  expect((await call('POST', agentSearch, { authorization: `Bearer ${forged}` })).status).toBe(401)
})

/** Puts a made-up token in the place of the issued one, as a leak of a writable database could. */
async function store(forged: string): Promise<string> {
  const db = rawDatabase(assembly.context.store.db)
  await db
    .updateTable('access_tokens')
    .set({ hash: hashToken(forged) })
    .execute()
  return forged
}

interface Forgery {
  key?: 'own' | 'foreign'
  header?: { alg?: string; typ?: string }
  claims?: Record<string, unknown>
}

/** A token of the service's own making, but for what is named. */
async function forge({ key = 'own', header = {}, claims = {} }: Forgery): Promise<string> {
  const body: Record<string, unknown> = {
    iss: service.authUrl,
    aud: service.baseUrl,
    sub: 'x',
    client_id: 'x',
    tenant: 'demo',
    permissions: service.people[0]?.permissions,
    exp: Math.floor(service.dev.nowMs() / 1_000) + 600,
    ...claims,
  }
  const signingKey = key === 'own' ? assembly.context.keys.signingKey : (await generateKeyPair('ES256')).privateKey
  const signed = await new SignJWT(body).setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', ...header }).sign(signingKey)
  return signed
}

test.each<[string, Forgery, number]>([
  ['like an issued one', {}, 200],
  ['signed by another key', { key: 'foreign' }, 401],
  ['of another type', { header: { typ: 'JWT' } }, 401],
  ['of another issuer', { claims: { iss: 'https://auth.other.example' } }, 401],
  ['for another audience', { claims: { aud: 'https://api.other.example' } }, 401],
  ['that is over', { claims: { exp: 1 } }, 401],
  ['without an end', { claims: { exp: undefined } }, 401],
  ['without permissions', { claims: { permissions: undefined } }, 401],
  ['without a tenant', { claims: { tenant: undefined } }, 401],
])('a stored token %s', async (_, forgery, status) => {
  const forged = await store(await forge(forgery))
  expect((await call('POST', agentSearch, { authorization: `Bearer ${forged}` })).status).toBe(status)
})

test.each([
  ['without a signature', (issued: string) => issued.replace(/[^.]+$/, '')],
  ['with a fourth part', (issued: string) => `${issued}.x`],
  [
    'that names no algorithm',
    (issued: string) =>
      `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}${issued.slice(issued.indexOf('.'))}`,
  ],
  ['of one part', () => 'x'],
])('a stored token %s is 401', async (_, change) => {
  const forged = await store(change(token))
  expect((await call('POST', agentSearch, { authorization: `Bearer ${forged}` })).status).toBe(401)
})

test('a user session token is the other kind of bearer, and ends after 12 hours', async () => {
  const sessionToken = await service.dev.mintSessionToken('ada@demo.example')
  expect((await callApi(service, { token: sessionToken, path: agentSearch, body: {} })).status).toBe(200)
  service.dev.advance(12 * 60 * 60_000)
  expect((await callApi(service, { token: sessionToken, path: agentSearch, body: {} })).status).toBe(401)
  await expect(service.dev.mintSessionToken('nobody@demo.example')).rejects.toThrow('no account has this email address')
})

test('authentication, approval, permission, validation, lookup: the first that fails answers', async () => {
  const bad = '{"limit":0}'
  expect((await call('POST', agentSearch, {}, bad)).status).toBe(401)
  const db = rawDatabase(assembly.context.store.db)
  const bearer = { authorization: `Bearer ${token}` }
  await db.updateTable('people').set({ permissions: '[]' }).execute()
  await db.updateTable('client_approvals').set({ active: 0 }).execute()
  await expectForbidden(token, 'OAuth client is not approved for this API')
  await db.updateTable('client_approvals').set({ active: 1 }).execute()
  await expectForbidden(token, 'missing permission')
  const all = JSON.stringify(service.people[0]?.permissions)
  await db.updateTable('people').set({ permissions: all }).execute()
  expect((await call('POST', agentSearch, bearer, bad)).status).toBe(422)
  const path = (id: string) => `/api/parent_agents/${id}/state_function/context_variables`
  expect((await call('GET', path('x'), bearer)).status).toBe(422)
  expect((await call('GET', path('999999'), bearer)).status).toBe(404)
})

test.each([
  ['clients', { active: 0 }],
  ['client_approvals', { active: 0 }],
  ['client_approvals', { surfaces: '["files"]' }],
] as const)('%s with %o: the client is not approved', async (table, change) => {
  await rawDatabase(assembly.context.store.db).updateTable(table).set(change).execute()
  for (const endpoint of endpoints) await expectForbidden(token, 'OAuth client is not approved for this API', endpoint)
})

test('without api.access no endpoint answers, also by a session token', async () => {
  const guest = (await login(service, { person: personOf(service, 'gil') })).access_token
  for (const endpoint of endpoints) await expectForbidden(guest, 'missing permission', endpoint)
  await expectForbidden(await service.dev.mintSessionToken('gil@demo.example'), 'missing permission')
})

test.each([
  ['parent_agents.read', [0, 1]],
  ['parent_agents.create', [2]],
  ['llm_models.read', [3]],
])('without %s exactly its endpoints are refused', async (permission, refused) => {
  const others = service.people[0]?.permissions.filter((name) => name !== permission)
  await rawDatabase(assembly.context.store.db)
    .updateTable('people')
    .set({ permissions: JSON.stringify(others) })
    .execute()
  const statuses = await Promise.all(
    endpoints.map(
      async ([method, path]) => (await call(method, path, { authorization: `Bearer ${token}` }, '{"limit":0}')).status,
    ),
  )
  expect(statuses.flatMap((status, index) => (status === 403 ? [index] : []))).toEqual(refused)
})

test('a permission granted after the token was issued is not in the token', async () => {
  const reader = (await login(service, { person: personOf(service, 'rui') })).access_token
  const all = JSON.stringify(service.people[0]?.permissions)
  await rawDatabase(assembly.context.store.db).updateTable('people').set({ permissions: all }).execute()
  await expectForbidden(reader, 'missing permission', endpoints[2])
})

test('without active billing nothing is created, reading goes on', async () => {
  await rawDatabase(assembly.context.store.db).updateTable('tenants').set({ billing_active: 0 }).execute()
  await expectForbidden(token, 'the tenant has no active billing', endpoints[2])
  expect((await callApi(service, { token, path: agentSearch, body: {} })).status).toBe(200)
})

test('every answer is readable from a registered origin', async () => {
  const origin = 'https://app.demo.example'
  const bearer = { authorization: `Bearer ${token}` }
  const guest = { authorization: `Bearer ${await service.dev.mintSessionToken('gil@demo.example')}` }
  const answers: [number, Response][] = [
    [200, await call('POST', agentSearch, { origin, ...bearer })],
    [401, await call('POST', agentSearch, { origin })],
    [403, await call('POST', agentSearch, { origin, ...guest })],
    [404, await call('GET', '/api/tools', { origin, ...bearer })],
    [405, await call('DELETE', '/api/parent_agents', { origin, ...bearer })],
    [413, await call('POST', agentSearch, { origin, ...bearer }, ' '.repeat(256 * 1_024 + 1))],
    [415, await call('POST', agentSearch, { origin, ...bearer, 'content-type': 'text/plain' })],
    [422, await call('POST', agentSearch, { origin, ...bearer }, '{')],
  ]
  const { schema } = rawDatabase(assembly.context.store.db)
  await schema.alterTable('access_tokens').renameTo('gone').execute()
  answers.push([500, await call('POST', agentSearch, { origin, ...bearer })])
  await schema.alterTable('gone').renameTo('access_tokens').execute()
  for (const [status, { status: answered, headers }] of answers) {
    expect({ answered, accessControlAllowOrigin: headers.get('access-control-allow-origin') }).toEqual({
      answered: status,
      accessControlAllowOrigin: origin,
    })
    expect(headers.get('access-control-expose-headers')).toBe('WWW-Authenticate, Retry-After, X-Request-Id')
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('vary')).toContain('Origin')
  }
  const foreign = await call('POST', agentSearch, { origin: 'https://evil.example', ...bearer })
  expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
})

test('preflights of the API, and allowedOrigins', async () => {
  const other = await assemble({ allowedOrigins: ['https://spa.example'] })
  const headers = { origin: 'https://spa.example', 'access-control-request-method': 'POST' }
  const answer = await other.service.fetch(`${other.service.baseUrl}${agentSearch}`, { method: 'OPTIONS', headers })
  expect({
    status: answer.status,
    accessControlAllowOrigin: answer.headers.get('access-control-allow-origin'),
  }).toEqual({ status: 204, accessControlAllowOrigin: 'https://spa.example' })
  expect(answer.headers.get('access-control-allow-headers')).toBe('authorization, content-type')
  await other.service.close()
})

test('a foreign Host is 421 in JSON: the envelope of the API, an OAuth error of the authorization host', async () => {
  const ask = async (origin: string) => {
    const answer = await service.fetch(`${origin}/api/parent_agents`, { headers: { host: 'attacker.test' } })
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    return { status: answer.status, body: await answer.json() }
  }
  const [error_message, error_description] = Array(2).fill('this host is not served here')
  const refused = { success: false, data: {}, error_type: 'misdirected_request', error_message }
  expect(await ask(service.baseUrl)).toEqual({ status: 421, body: refused })
  expect(await ask(service.authUrl)).toEqual({ status: 421, body: { error: 'invalid_request', error_description } })
})

const elsewhere = [
  ['GET', '/api/tools', 404],
  ['POST', '/api/users/search', 404],
  ['GET', '/', 404],
  ['PUT', agentSearch, 405],
  ['GET', '/api/parent_agents', 405],
  ['HEAD', '/api/parent_agents/1/state_function/context_variables', 405],
] as const

test.each(elsewhere)('%s %s asks for the bearer before it is %i', async (method, path, status) => {
  const url = service.baseUrl + path
  const ask = (headers: Record<string, string>) => service.fetch(url, { method, headers })
  const absent = await ask({})
  expect({ status: absent.status, wwwAuthenticate: absent.headers.get('www-authenticate') }).toEqual({
    status: 401,
    wwwAuthenticate: 'Bearer',
  })
  const invalid = await ask({ authorization: 'Bearer x' })
  expect({ status: invalid.status, wwwAuthenticate: invalid.headers.get('www-authenticate') }).toEqual({
    status: 401,
    wwwAuthenticate: 'Bearer error="invalid_token"',
  })
  const guest = await service.dev.mintSessionToken('gil@demo.example')
  expect((await ask({ authorization: `Bearer ${guest}` })).status).toBe(403)
  const answer = await ask({ authorization: `Bearer ${token}` })
  expect({ status: answer.status, hasAllow: answer.headers.has('allow') }).toEqual({ status, hasAllow: status === 405 })
})

test('the description asks for no bearer', async () => {
  expect((await service.fetch(`${service.baseUrl}/openapi.json`)).status).toBe(200)
})

test('the token of a user who has moved to another tenant opens neither', async () => {
  const db = rawDatabase(assembly.context.store.db)
  const tenant = await db.selectFrom('tenants').select('id').where('id', '!=', 'demo').executeTakeFirstOrThrow()
  expect((await callApi(service, { token, path: agentSearch, body: {} })).status).toBe(200)
  const { email } = personOf(service, 'ada')
  await db.updateTable('people').set({ tenant_id: tenant.id }).where('email', '=', email).execute()
  const answer = await callApi(service, { token, path: agentSearch, body: {} })
  expect({ status: answer.status, body: await answer.json() }).toEqual({ status: 401, body: unauthenticated })
})

test('OPTIONS is a preflight only when it asks for a method', async () => {
  const ask = (headers: Record<string, string>) =>
    service.fetch(service.baseUrl + agentSearch, {
      method: 'OPTIONS',
      headers: { origin: 'https://app.demo.example', ...headers },
    })
  expect((await ask({ 'access-control-request-method': 'POST' })).status).toBe(204)
  expect((await ask({ authorization: `Bearer ${token}` })).status).toBe(405)
})
