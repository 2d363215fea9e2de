import { expect, onTestFinished, test } from 'vitest'
import { createService } from '../support/start.ts'

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
const own = 'req_0123456789'

test('every response has an id of its own: pages, tokens, the API, refusals, preflights, faults and probes', async () => {
  const service = await createService()
  onTestFinished(service.close)
  service.dev.addFault({ match: { path: '/auth/v1/clients' }, effect: { status: 503 } })
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: 'https://app.demo.example', 'access-control-request-method': 'POST' },
  }
  const asked: [string, RequestInit?][] = [
    [`${service.authUrl}/auth/v1/authorize`],
    [`${service.authUrl}/auth/v1/token`, { method: 'POST' }],
    [`${service.authUrl}/auth/v1/token`, preflight],
    [`${service.authUrl}/auth/v1/clients`],
    [`${service.authUrl}/nothing`, { headers: { host: 'evil.example' } }],
    [`${service.authUrl}/healthz`],
    [`${service.baseUrl}/api/llm_models/search`],
    [`${service.baseUrl}/openapi.json`],
  ]
  const ids = await Promise.all(
    asked.map(async ([url, init]) => (await service.fetch(url, init)).headers.get('x-request-id')),
  )
  for (const id of ids) expect(id).toMatch(uuid)
  expect(new Set(ids).size).toBe(asked.length)
})

test('an id that a request brings counts only if a proxy is trusted, and only if it is well formed', async () => {
  const idFor = async (trustedProxies: number, sent: string): Promise<string | null> => {
    const service = await createService({ trustedProxies })
    const response = await service.fetch(`${service.authUrl}/healthz`, { headers: { 'x-request-id': sent } })
    await service.close()
    return response.headers.get('x-request-id')
  }
  expect(await idFor(0, own)).toMatch(uuid)
  expect(await idFor(1, own)).toBe(own)
  for (const malformed of ['short', 'x'.repeat(65), 'two words here', '{"kind":"event"}', `${own}, ${own}`]) {
    expect(await idFor(1, malformed)).toMatch(uuid)
  }
})
