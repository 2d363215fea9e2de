import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { agentSearch } from '../support/login.ts'
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

/** Refused, and no page may read that. */
function expectUnreadable({ status, headers }: Response): void {
  expect({ status, allowedOrigin: headers.get('access-control-allow-origin') }).toEqual({
    status: 403,
    allowedOrigin: null,
  })
}

test('no answer of the token endpoint, of any status, is readable from an unregistered origin', async () => {
  const send = sender(service.authUrl, tokenPath + refreshQuery)
  const bodies = [{}, { refresh_token: 'x' }, '{', { refresh_token: 'x', client_id: 'app_0' }]
  for (const foreign of ['https://evil.example', 'null', 'https://app.demo.example.evil.example', `${origin}:8443`]) {
    for (const body of bodies) {
      const answer = await send({ body, headers: { origin: foreign } })
      expectUnreadable(answer)
      expect(answer.headers.get('vary')).toContain('Origin')
    }
  }
})

test('a page of an unregistered origin changes nothing by the API, with everything that it can send along', async () => {
  const token = await service.dev.mintSessionToken('ada@demo.example')
  const send = sender(service.baseUrl, '/api/parent_agents')
  const body = { agent_name: 'From afar', description: 'x', parent_agent_type: 'x' }
  const headers = { authorization: `Bearer ${token}` }
  for (const foreign of ['https://evil.example', 'null', 'http://localhost:4003', 'https://127.0.0.1:4003']) {
    const answer = await send({ body, headers: { ...headers, origin: foreign } })
    expectUnreadable(answer)
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
