import { expect, onTestFinished, test } from 'vitest'
import { createService } from '../support/start.ts'

test.each([
  ['authUrl', 'POST', '/api/parent_agents/search', 'set baseUrl to the API, http://127.0.0.1:2'],
  ['authUrl', 'GET', '/docs', 'The API is http://127.0.0.1:2.'],
  ['baseUrl', 'GET', '/auth/v1/authorize', 'set authUrl to the authorization server, http://127.0.0.1:1'],
  ['baseUrl', 'GET', '/_dev/state', 'set authUrl to the authorization server, http://127.0.0.1:1'],
] as const)('with dev controls, %s says for %s %s which address was meant', async (origin, method, path, text) => {
  const urls = { authUrl: 'http://127.0.0.1:1', baseUrl: 'http://127.0.0.1:2' }
  for (const dev of ['on', 'off'] as const) {
    const service = await createService({ ...urls, dev })
    onTestFinished(service.close)
    const response = await service.fetch(service[origin] + path, { method })
    expect(response.status).toBe(404)
    const said = (await response.text()).includes(text)
    expect(said).toBe(dev === 'on')
  }
})
