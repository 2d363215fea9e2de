import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { Client, Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { parseBasic } from '../../src/token/token-endpoint.ts'
import {
  agentSearch,
  authorize,
  basic,
  clientOf,
  errorOf,
  exchange,
  login,
  refresh,
  type TokenAnswer,
} from '../support/login.ts'
import { assemble, createService } from '../support/start.ts'

let assembly: Assembly
let service: Service
let publicClient: Client
let confidential: Client
beforeAll(async () => use(await assemble({})))
afterAll(() => service.close())

function use(next: Assembly): void {
  assembly = next
  service = assembly.service
  publicClient = clientOf(service, 'Demo public')
  confidential = clientOf(service, 'Demo confidential')
}

/** Gives the test that runs a service of its own, because it changes rows. */
async function useOwn(): Promise<void> {
  const shared = assembly
  use(await assemble({}))
  onTestFinished(async () => {
    await service.close()
    use(shared)
  })
}

interface Post {
  query?: string
  type?: string
  body?: string
  headers?: Record<string, string>
  method?: string
}

const formType = 'application/x-www-form-urlencoded'
const jsonType = 'application/json'

function post({
  query = 'grant_type=refresh_token',
  type = jsonType,
  body = '{}',
  headers = {},
  method = 'POST',
}: Post) {
  const url = `${service.authUrl}/auth/v1/token?${query}`
  const content: Record<string, string> = type === '' ? {} : { 'content-type': type }
  const bytes = method === 'GET' || method === 'HEAD' ? null : new TextEncoder().encode(body)
  return service.fetch(url, { method, headers: { ...content, ...headers }, body: bytes })
}

async function expectError(answer: Response, status: number, error: string): Promise<void> {
  expect({ status: answer.status, error: await errorOf(answer) }).toEqual({ status, error })
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('pragma')).toBe('no-cache')
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
}

test.each([
  ['missing', '', 'invalid_request'],
  ['empty', 'grant_type=', 'invalid_request'],
  ['repeated', 'grant_type=refresh_token&grant_type=refresh_token', 'invalid_request'],
  ['among more than 100 parameters', `grant_type=refresh_token${'&a'.repeat(100)}`, 'invalid_request'],
  ['unknown', 'grant_type=password', 'unsupported_grant_type'],
])('grant_type %s in the query', async (_, query, error) => {
  await expectError(await post({ query }), 400, error)
})

test('grant_type in the body alone does not count, an equal one is harmless, another is refused', async () => {
  await expectError(await post({ query: '', body: '{"grant_type":"refresh_token"}' }), 400, 'invalid_request')
  const callback = await authorize(service)
  await expectError(await exchange(service, callback, { grant_type: 'refresh_token' }), 400, 'invalid_request')
  expect((await exchange(service, callback, { grant_type: 'authorization_code' })).status).toBe(200)
})

test.each(['code', 'refresh_token', 'client_secret', 'code_verifier', 'client_id', 'redirect_uri', 'scope'])(
  '%s in the query is refused, and kept out of the journal',
  async (name) => {
    await expectError(await post({ query: `grant_type=refresh_token&${name}=canary-1` }), 400, 'invalid_request')
    expect(JSON.stringify(service.dev.journal())).not.toContain('canary-1')
  },
)

test.each([
  ['a form for refresh', 'grant_type=refresh_token', formType],
  ['JSON for the exchange', 'grant_type=authorization_code', jsonType],
  ['text', 'grant_type=refresh_token', 'text/plain'],
  ['no type', 'grant_type=refresh_token', ''],
  ['another charset', 'grant_type=refresh_token', 'application/json; charset=latin1'],
  ['a longer name', 'grant_type=refresh_token', 'application/jsonp'],
])('%s is 415', async (_, query, type) => {
  await expectError(await post({ query, type }), 415, 'invalid_request')
})

test('a compressed body is 415', async () => {
  await expectError(await post({ headers: { 'content-encoding': 'gzip' } }), 415, 'invalid_request')
})

test.each(['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])('%s is taken', async (type) => {
  await expectError(await post({ type, body: '{"refresh_token":"x"}' }), 401, 'invalid_client')
})

test('a body over 16 KiB is 413, with and without a declared length', async () => {
  const body = JSON.stringify({ refresh_token: 'x'.repeat(16 * 1_024) })
  await expectError(await post({ body }), 413, 'invalid_request')
  const stream = new Blob([body]).stream()
  const init = { method: 'POST', headers: { 'content-type': jsonType }, body: stream, duplex: 'half' }
  const answer = await service.fetch(`${service.authUrl}/auth/v1/token?grant_type=refresh_token`, init as RequestInit)
  await expectError(answer, 413, 'invalid_request')
})

const noObject = 'the body is not a JSON object'

test.each([
  ['a number', '{"refresh_token":1,"client_id":"x"}', 'refresh_token must be a string'],
  ['null', '{"refresh_token":null,"client_id":1}', 'refresh_token must be a string'],
  ['a number for grant_type', '{"refresh_token":"a","grant_type":1}', 'grant_type must be a string'],
  ['an array', '[]', noObject],
  ['text', '"x"', noObject],
  ['broken JSON', '{', noObject],
  ['nothing', '', noObject],
  ['a byte order mark', '\ufeff{}', noObject],
])('%s is invalid_request, with a description of the mistake', async (_, body, error_description) => {
  const answer = await post({ body })
  expect(await answer.clone().json()).toMatchObject({ error_description })
  await expectError(answer, 400, 'invalid_request')
})

test('a __proto__ member supplies nothing', async () => {
  const body = `{"__proto__":{"client_id":"${publicClient.clientId}","refresh_token":"x"}}`
  await expectError(await post({ body }), 401, 'invalid_client')
})

test('a repeated form field is invalid_request, and bytes that are not UTF-8 too', async () => {
  const query = 'grant_type=authorization_code'
  await expectError(await post({ query, type: formType, body: 'code=a&code=b' }), 400, 'invalid_request')
  const url = `${service.authUrl}/auth/v1/token?grant_type=refresh_token`
  const body = new Uint8Array([0x7b, 0xff, 0x7d])
  await expectError(
    await service.fetch(url, { method: 'POST', headers: { 'content-type': jsonType }, body }),
    400,
    'invalid_request',
  )
})

test.each([
  ['code', { code: undefined }],
  ['redirect_uri', { redirect_uri: undefined }],
])('an exchange without %s is invalid_request', async (_, changes) => {
  await expectError(await exchange(service, await authorize(service), changes), 400, 'invalid_request')
})

test('a refresh without refresh_token is invalid_request', async () => {
  await expectError(await refresh(service, publicClient, ''), 400, 'invalid_request')
})

test.each(['GET', 'PUT', 'HEAD', 'DELETE', 'PATCH'])('%s is 405', async (method) => {
  const answer = await post({ method })
  expect({ status: answer.status, allow: answer.headers.get('allow') }).toEqual({ status: 405, allow: 'POST, OPTIONS' })
})

test('a broken store gives 500 with an id and nothing about the cause', async () => {
  await useOwn()
  const callback = await authorize(service)
  await rawDatabase(assembly.context.store.db).schema.alterTable('grants').renameTo('gone').execute()
  const answer = await exchange(service, callback)
  const body = await answer.text()
  expect(answer.status).toBe(500)
  expect(body).toMatch(/^\{"error":"server_error","error_description":"unexpected error [0-9a-f-]{36}"\}$/)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  await rawDatabase(assembly.context.store.db).schema.alterTable('gone').renameTo('grants').execute()
  // Nothing was half-done: the code is still good.
  expect((await exchange(service, callback)).status).toBe(200)
})

const good = Buffer.from('id:secret').toString('base64')

test.each([
  ['two headers', `Basic ${good}, Basic ${good}`],
  ['junk in base64', `Basic ${good.slice(0, 4)}!!${good.slice(4)}`],
  ['missing padding', `Basic ${Buffer.from('id:secre').toString('base64').replace(/=+$/, '')}`],
  ['bits after the end', `Basic ${Buffer.from('a:b').toString('base64').slice(0, 3)}=`],
  ['no colon', `Basic ${Buffer.from('idsecret').toString('base64')}`],
  ['no id', `Basic ${Buffer.from(':secret').toString('base64')}`],
  ['a bad escape', `Basic ${Buffer.from('id:%zz').toString('base64')}`],
  ['not UTF-8', `Basic ${Buffer.from([0x61, 0x3a, 0xff]).toString('base64')}`],
  ['Bearer', `Bearer ${good}`],
  ['nothing', 'Basic'],
])('Basic with %s is malformed', async (_, header) => {
  expect(parseBasic(header)).toBeUndefined()
  const answer = await post({ body: '{"refresh_token":"x"}', headers: { authorization: header } })
  expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
  await expectError(answer, 401, 'invalid_client')
})

test('both halves are form-decoded and split at the first colon', () => {
  const header = (text: string) => `basic ${Buffer.from(text).toString('base64')}`
  expect(parseBasic(header('a%2Db%5Fc:x%3Ay+z'))).toEqual({ clientId: 'a-b_c', secret: 'x:y z' })
  expect(parseBasic(header('a:b:c'))).toEqual({ clientId: 'a', secret: 'b:c' })
  expect(parseBasic(header('a:'))).toEqual({ clientId: 'a', secret: '' })
})

test('an escaped spelling of id and secret logs in', async () => {
  const { refresh_token } = await login(service, { client: confidential })
  const escaped = (text: string) => text.replace(/[^A-Za-z0-9]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
  const spelled = `${escaped(confidential.clientId)}:${escaped(confidential.clientSecret ?? '')}`
  const authorization = `Basic ${Buffer.from(spelled).toString('base64')}`
  const answer = await post({ body: JSON.stringify({ refresh_token }), headers: { authorization } })
  expect(answer.status).toBe(200)
})

test.each([{ client_secret: 'x' }, { client_id: 'app_0' }])(
  'Basic and %o in the body is invalid_request',
  async (more) => {
    await expectError(await refresh(service, confidential, 'x', more), 400, 'invalid_request')
    const callback = await authorize(service, { client: confidential, pkce: 'without' })
    await expectError(await exchange(service, callback, more), 400, 'invalid_request')
  },
)

test('secrets have 256 bits, are stored as keyed hashes, and two can be active', async () => {
  await useOwn()
  const db = rawDatabase(assembly.context.store.db)
  expect(confidential.clientSecret).toMatch(/^[A-Za-z0-9_-]{43}$/)
  const dump = JSON.stringify(await db.selectFrom('client_secrets').selectAll().execute())
  expect(dump).not.toContain(confidential.clientSecret)
  const { keyedHash } = await import('../../src/credentials/tokens.ts')
  const secret_hash = keyedHash(assembly.context.keys.hashKey, 'second-secret')
  const row = { id: 'secret_2', client_id: confidential.clientId, secret_hash, created_ms: 0, retired_ms: null }
  await db.insertInto('client_secrets').values(row).execute()
  const use = async (secret: string) => {
    const answer = await post({
      body: '{"refresh_token":"x"}',
      headers: { authorization: basic(confidential, secret) },
    })
    return errorOf(answer)
  }
  expect(await use('second-secret')).toBe('invalid_grant')
  expect(await use(confidential.clientSecret ?? '')).toBe('invalid_grant')
  await db.updateTable('client_secrets').set({ retired_ms: 1 }).where('id', '=', 'secret_2').execute()
  expect(await use('second-secret')).toBe('invalid_client')
})

const isPublic = 'this client id is public: send no secret, or use the id of a confidential client in a backend'
const isConfidential =
  'this client id is confidential: a backend sends its secret by HTTP Basic, a page or app uses the id of a public client'
const isUnknown =
  'this service does not know the client_id: was it restarted without --data, or with other data? copy its new ids'
const isWrong = 'client authentication failed'

const mixedUp: [string, Record<string, () => string | undefined>, (() => string) | undefined, string][] = [
  ['a confidential id in a page', { client_id: () => confidential.clientId }, undefined, isConfidential],
  [
    'a confidential id with its secret in the body',
    { client_id: () => confidential.clientId, client_secret: () => confidential.clientSecret },
    undefined,
    isConfidential,
  ],
  ['a public id with a secret', {}, () => basic(publicClient, 'secret'), isPublic],
  ['a public id with an empty secret', {}, () => basic(publicClient, ''), isPublic],
  [
    'a public id with a secret in the body',
    { client_id: () => publicClient.clientId, client_secret: () => 'x' },
    undefined,
    isPublic,
  ],
  ['an id of an earlier start', { client_id: () => 'app_0' }, undefined, isUnknown],
  ['no id at all', {}, undefined, isWrong],
  ['a wrong secret', {}, () => basic(confidential, 'x'), isWrong],
  ['an unknown id with a secret', {}, () => basic({ ...confidential, clientId: 'app_0' }, 'x'), isWrong],
]

test.each(mixedUp)('%s is named by the description', async (_, fields, authorization, error_description) => {
  const sent = Object.entries(fields).map(([name, value]) => [name, value() ?? ''])
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization: authorization() }
  for (const [grant, type] of [
    ['refresh_token', jsonType],
    ['authorization_code', formType],
  ] as const) {
    const values = { ...Object.fromEntries(sent), code: 'x', redirect_uri: 'x', refresh_token: 'x' }
    const body = type === formType ? new URLSearchParams(values).toString() : JSON.stringify(values)
    const answer = await post({ query: `grant_type=${grant}`, type, body, headers })
    expect({ status: answer.status, body: await answer.json() }).toEqual({
      status: 401,
      body: { error: 'invalid_client', error_description },
    })
  }
})

test('with dev controls, an unknown client_id and a wrong secret each say what to copy', async () => {
  const memory = await createService({ dev: 'on' })
  const own = clientOf(memory, 'Demo confidential')
  const describe = async (authorization: string): Promise<unknown> => {
    const headers = { authorization, 'content-type': jsonType }
    const url = `${memory.authUrl}/auth/v1/token?grant_type=refresh_token`
    const answer = await memory.fetch(url, { method: 'POST', headers, body: '{"refresh_token":"x"}' })
    return { status: answer.status, body: await answer.json() }
  }
  const refusal = (error_description: string) => ({
    status: 401,
    body: { error: 'invalid_client', error_description },
  })
  // The client of the service of the other tests: as after a restart.
  expect(await describe(basic(confidential))).toEqual(refusal(isUnknown))
  expect(await describe(basic(own, 'x'))).toEqual(
    refusal(
      'wrong secret of this client: copy it again, or make another on the page /auth/v1/clients; form-encode both parts of Basic (RFC 6749 section 2.3.1)',
    ),
  )
  await memory.close()
})

test('an exchange from a return address that is not registered is told how to register it', async () => {
  const callback = await authorize(service)
  const answer = await exchange(service, callback, { redirect_uri: 'http://127.0.0.1:5173/other' })
  const error_description =
    'redirect_uri is not registered for this client; agent-service registers one with --redirect-uri'
  expect({ status: answer.status, body: await answer.json() }).toEqual({
    status: 400,
    body: { error: 'invalid_grant', error_description },
  })
  // A registered one that is not the code's says nothing of the code.
  const other = await exchange(service, callback, { redirect_uri: 'http://127.0.0.1:5173/callback' })
  expect(await other.json()).toMatchObject({ error_description: expect.stringContaining('invalid, expired, revoked') })
})

const registered = 'https://app.demo.example'

/** The status, and the origin whose pages may read the response. */
function readBy({ status, headers }: Response) {
  return { status, allowedOrigin: headers.get('access-control-allow-origin') }
}

test('a preflight from a registered origin is answered, from another it is not', async () => {
  const preflight = (origin: string) => {
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    }
    return service.fetch(`${service.authUrl}/auth/v1/token`, { method: 'OPTIONS', headers })
  }
  const known = (await preflight(registered)).headers
  expect(known.get('access-control-allow-origin')).toBe(registered)
  expect(known.get('access-control-allow-headers')).toBe('authorization, content-type')
  expect(known.get('access-control-allow-methods')).toBe('POST')
  expect(known.get('access-control-allow-credentials')).toBeNull()
  expect(known.get('vary')).toBe('Origin')
  expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
})

test('answers and errors are readable from a registered origin', async () => {
  await useOwn()
  const tokens = await login(service)
  const read = async (body: object) => {
    const answer = await post({ body: JSON.stringify(body), headers: { origin: registered } })
    return { ...readBy(answer), exposed: answer.headers.get('access-control-expose-headers') }
  }
  const exposed = 'WWW-Authenticate, Retry-After, X-Request-Id'
  const readable = { allowedOrigin: registered, exposed }
  const own = { client_id: publicClient.clientId }
  expect(await read({ refresh_token: tokens.refresh_token, ...own })).toEqual({ status: 200, ...readable })
  expect(await read({ refresh_token: 'x', ...own })).toEqual({ status: 400, ...readable })
  expect(await read({ refresh_token: 'x' })).toEqual({ status: 401, ...readable })
  await rawDatabase(assembly.context.store.db).schema.alterTable('grants').renameTo('gone').execute()
  expect(await read({ refresh_token: 'x', ...own })).toEqual({ status: 500, ...readable })
})

test('the origin of another client cannot read, an unregistered one is refused and burns nothing', async () => {
  await useOwn()
  const db = rawDatabase(assembly.context.store.db)
  const row = {
    client_id: clientOf(service, 'Other public').clientId,
    redirect_uri: 'https://other.example/cb',
    page_origin: 'https://other.example',
    position: 9,
  }
  await db.insertInto('client_redirect_uris').values(row).execute()
  const { refresh_token } = await login(service)
  const body = JSON.stringify({ refresh_token, client_id: publicClient.clientId })
  const foreign = await post({ body, headers: { origin: 'https://evil.example' } })
  expect(readBy(foreign)).toEqual({ status: 403, allowedOrigin: null })
  const other = await post({ body, headers: { origin: 'https://other.example' } })
  expect(readBy(other)).toEqual({ status: 200, allowedOrigin: null })
})

test('a page on the loopback port that authorize accepted exchanges its code, refreshes and calls the API', async () => {
  for (const origin of ['http://127.0.0.1:5199', 'http://[::1]:5199', 'http://127.0.0.1']) {
    const { code, verifier, redirectUri } = await authorize(service, { redirectUri: `${origin}/callback` })
    const fields = { code, redirect_uri: redirectUri, code_verifier: verifier, client_id: publicClient.clientId }
    const read = async (url: string, type: string, body: string, authorization?: string) => {
      const preflight = { origin, 'access-control-request-method': 'POST' }
      const asked = await service.fetch(url, { method: 'OPTIONS', headers: preflight })
      expect(asked.headers.get('access-control-allow-origin')).toBe(origin)
      const headers = { origin, 'content-type': type, ...(authorization === undefined ? {} : { authorization }) }
      const answer = await service.fetch(url, { method: 'POST', headers, body })
      expect(readBy(answer)).toEqual({ status: 200, allowedOrigin: origin })
      return (await answer.json()) as TokenAnswer
    }
    const token = `${service.authUrl}/auth/v1/token?grant_type=`
    const form = 'application/x-www-form-urlencoded'
    const first = await read(`${token}authorization_code`, form, new URLSearchParams(fields).toString())
    const refresh = { refresh_token: first.refresh_token, client_id: publicClient.clientId }
    const { access_token } = await read(`${token}refresh_token`, 'application/json', JSON.stringify(refresh))
    await read(service.baseUrl + agentSearch, 'application/json', '{}', `Bearer ${access_token}`)
  }
})

test('a loopback port is free for the pages of public clients only', async () => {
  await useOwn()
  const db = rawDatabase(assembly.context.store.db)
  await db.deleteFrom('client_redirect_uris').where('client_id', '!=', confidential.clientId).execute()
  const answer = await post({ body: '{}', headers: { origin: 'http://127.0.0.1:5199' } })
  expect(readBy(answer)).toEqual({ status: 403, allowedOrigin: null })
  const own = await post({ body: '{}', headers: { origin: 'http://127.0.0.1:3000' } })
  expect(readBy(own)).toEqual({ status: 401, allowedOrigin: 'http://127.0.0.1:3000' })
})
