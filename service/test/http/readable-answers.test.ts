import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { agentSearch, authorize, basic, clientOf, login } from '../support/login.ts'
import { assemble } from '../support/start.ts'

// A page of another origin reads every answer, or sees a network failure where there was a 401.

let assembly: Assembly
let service: Service
beforeEach(async () => {
  assembly = await assemble({})
  service = assembly.service
})
afterEach(() => service.close())

const origin = 'https://app.demo.example'
const tokenPath = '/auth/v1/token'
const refreshQuery = '?grant_type=refresh_token'

type Send = (init: {
  path?: string
  method?: string
  body?: unknown
  headers?: Record<string, string>
}) => Promise<Response>

function sender(url: string, usualPath: string): Send {
  return ({ path = usualPath, method = 'POST', body = {}, headers = {} }) =>
    service.fetch(url + path, {
      method,
      headers: { origin, 'content-type': 'application/json', ...headers },
      body: ['GET', 'HEAD'].includes(method) ? null : typeof body === 'string' ? body : JSON.stringify(body),
    })
}

function fail(status: number): void {
  service.dev.addFault({ effect: { status, body: { error: 'x' }, headers: { 'Retry-After': '1' } }, times: 1 })
}

function expectReadable(answer: Response, status: number, from = origin): void {
  const { headers } = answer
  expect({ status: answer.status, accessControlAllowOrigin: headers.get('access-control-allow-origin') }).toEqual({
    status,
    accessControlAllowOrigin: from,
  })
  expect(headers.get('access-control-expose-headers')).toBe('WWW-Authenticate, Retry-After, X-Request-Id')
  expect(headers.get('access-control-allow-credentials')).toBeNull()
  expect(headers.get('vary')).toContain('Origin')
  expect(headers.get('cache-control')).toBe('no-store')
}

test('each status of the token endpoint is readable JSON that no cache keeps', async () => {
  const send = sender(service.authUrl, tokenPath + refreshQuery)
  const client = clientOf(service, 'Demo public')
  const confidential = clientOf(service, 'Demo confidential')
  const own = { client_id: client.clientId }
  const callback = await authorize(service)
  const { refresh_token } = await login(service)
  const form = { code: callback.code, redirect_uri: callback.redirectUri, code_verifier: callback.verifier, ...own }
  const formType = { 'content-type': 'application/x-www-form-urlencoded' }
  const answers: [number, Response][] = [
    [
      200,
      await send({
        path: `${tokenPath}?grant_type=authorization_code`,
        body: new URLSearchParams(form).toString(),
        headers: formType,
      }),
    ],
    [200, await send({ body: { refresh_token, ...own } })],
    [400, await send({ body: { refresh_token: 'x', ...own } })],
    [400, await send({ path: tokenPath, body: '{' })],
    [401, await send({ body: { refresh_token: 'x' } })],
    [405, await send({ method: 'DELETE' })],
    [405, await send({ method: 'GET' })],
    [413, await send({ body: `{"x":"${'x'.repeat(17 * 1_024)}"}` })],
    [415, await send({ headers: { 'content-type': 'text/plain' } })],
  ]
  // However long the guesses take here, the last one has to wait.
  service.dev.freeze()
  for (let guess = 0; guess < 12; guess += 1) {
    const answer = await send({ body: { refresh_token: 'x' }, headers: { authorization: basic(confidential, 'no') } })
    if (answer.status === 429) answers.push([429, answer])
  }
  expect(answers.at(-1)?.[0]).toBe(429)
  expect(answers.at(-1)?.[1].headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
  await rawDatabase(assembly.context.store.db).schema.alterTable('grants').renameTo('gone').execute()
  answers.push([500, await send({ body: { refresh_token: 'x', ...own } })])
  for (const [status, answer] of answers) {
    expectReadable(answer, status)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(typeof (await answer.json())).toBe('object')
  }
  for (const status of [429, 502, 503]) {
    fail(status)
    expectReadable(await send({}), status)
  }
})

test('no answer of the token endpoint, of any status, is readable from an unregistered origin', async () => {
  const send = sender(service.authUrl, tokenPath + refreshQuery)
  const bodies = [{}, { refresh_token: 'x' }, '{', { refresh_token: 'x', client_id: 'app_0' }]
  for (const foreign of ['https://evil.example', 'null', 'https://app.demo.example.evil.example', `${origin}:8443`]) {
    for (const body of bodies) {
      const answer = await send({ body, headers: { origin: foreign } })
      expect({
        status: answer.status,
        accessControlAllowOrigin: answer.headers.get('access-control-allow-origin'),
      }).toEqual({ status: 403, accessControlAllowOrigin: null })
      expect(answer.headers.get('vary')).toContain('Origin')
    }
  }
})

test('each status of the API, expected or not, is readable with the challenge and the waiting time', async () => {
  const token = await service.dev.mintSessionToken('ada@demo.example')
  const guest = await service.dev.mintSessionToken('gil@demo.example')
  const send = sender(service.baseUrl, agentSearch)
  const as = (bearer: string) => ({ authorization: `Bearer ${bearer}` })
  expectReadable(await send({ headers: as(token) }), 200)
  const unauthenticated = await send({ headers: as('x') })
  expectReadable(unauthenticated, 401)
  expect(unauthenticated.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"')
  expectReadable(await send({ headers: as(guest) }), 403)
  for (const path of ['/api/tools', '/api/parent_agents/x/y', '/nothing', '/'])
    expectReadable(await send({ path, headers: as(token) }), 404)
  for (const method of ['PUT', 'DELETE', 'GET', 'HEAD']) expectReadable(await send({ method, headers: as(token) }), 405)
  expectReadable(await send({ body: ' '.repeat(257 * 1_024), headers: as(token) }), 413)
  expectReadable(await send({ headers: { ...as(token), 'content-type': 'text/plain' } }), 415)
  expectReadable(await send({ headers: { ...as(token), host: 'evil.example' } }), 421)
  expectReadable(await send({ body: '{', headers: as(token) }), 422)
  for (const status of [429, 500, 502, 503, 504]) {
    fail(status)
    expectReadable(await send({ headers: as(token) }), status)
  }
  await rawDatabase(assembly.context.store.db).schema.alterTable('session_tokens').renameTo('gone').execute()
  expectReadable(await send({ headers: as(token) }), 500)
})

test('a page of an unregistered origin changes nothing by the API, with everything that it can send along', async () => {
  const token = await service.dev.mintSessionToken('ada@demo.example')
  const send = sender(service.baseUrl, '/api/parent_agents')
  const body = { agent_name: 'From afar', description: 'x', parent_agent_type: 'x' }
  const headers = { authorization: `Bearer ${token}` }
  for (const foreign of ['https://evil.example', 'null', 'http://localhost:4003', 'https://127.0.0.1:4003']) {
    const answer = await send({ body, headers: { ...headers, origin: foreign } })
    expect({
      status: answer.status,
      accessControlAllowOrigin: answer.headers.get('access-control-allow-origin'),
    }).toEqual({ status: 403, accessControlAllowOrigin: null })
    expect(await answer.json()).toMatchObject({ error_type: 'permission_error' })
  }
  const db = rawDatabase(assembly.context.store.db)
  const count = async () => (await db.selectFrom('parent_agents').select('id').execute()).length
  expect(await count()).toBe(24)
  for (const known of [origin, service.baseUrl]) {
    const named = { ...body, agent_name: `From ${known}` }
    expect((await send({ body: named, headers: { ...headers, origin: known } })).status).toBe(200)
  }
  expect(await count()).toBe(26)
})

test('behind TLS every answer tells browsers to stay there, on plain http none does', async () => {
  const urls = { authUrl: 'https://auth.demo.example', baseUrl: 'https://api.demo.example' }
  const secure = (await assemble(urls)).service
  for (const [running, expected] of [
    [secure, 'max-age=31536000'],
    [service, null],
  ] as const) {
    for (const url of [`${running.authUrl}/auth/v1/authorize`, `${running.authUrl}/x`, running.baseUrl + agentSearch]) {
      expect((await running.fetch(url)).headers.get('strict-transport-security')).toBe(expected)
    }
  }
  await secure.close()
})
