import { afterEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import { createService } from '../support/start.ts'

let service: Service
afterEach(() => service.close())

const page = 'https://app.demo.example'

async function refused(
  url: string,
  init: RequestInit = {},
): Promise<{ status: number; allowedOrigin: string | null; message: unknown }> {
  const response = await service.fetch(url, init)
  const { error_type, error_message } = (await response.json()) as Record<string, string>
  expect(error_type).toBe('not_found')
  return {
    status: response.status,
    allowedOrigin: response.headers.get('access-control-allow-origin'),
    message: error_message,
  }
}

test.each([
  ['GET', '/auth/v1/authorize?response_type=code'],
  ['POST', '/auth/v1/token?grant_type=authorization_code'],
  ['GET', '/authorize?response_type=code'],
  ['POST', '/token'],
  ['GET', '/oauth2/v1/authorize'],
  ['POST', '/oauth/access_token'],
  ['GET', '/auth/v1/clients'],
  ['GET', '/api/auth/v1/authorize'],
  ['GET', '/.well-known/openid-configuration'],
])('with dev controls, the API names the authorization server at %s %s, readable by a page', async (method, path) => {
  service = await createService({ dev: 'on' })
  const message = `this is the API: set authUrl to the authorization server, ${service.authUrl}`
  expect(await refused(service.baseUrl + path, { method, headers: { origin: page } })).toEqual({
    status: 404,
    allowedOrigin: page,
    message,
  })
})

test.each(['/api/token', '/api', '/authorize/x', '/nowhere'])(
  'with dev controls, the API checks the bearer token first at %s',
  async (path) => {
    service = await createService({ dev: 'on' })
    expect((await service.fetch(service.baseUrl + path)).status).toBe(401)
  },
)

test('without dev controls, the API answers 401 there as at every unknown address', async () => {
  service = await createService()
  for (const path of ['/auth/v1/authorize', '/token'])
    expect((await service.fetch(service.baseUrl + path)).status).toBe(401)
})

test('the API says where the dev controls are, or how to turn them on', async () => {
  service = await createService({ dev: 'on' })
  const there = `this is the API: the dev controls are at ${service.authUrl}/_dev`
  for (const path of ['/_dev', '/_dev/state']) expect((await refused(service.baseUrl + path)).message).toBe(there)
  await service.close()
  service = await createService()
  expect((await refused(`${service.baseUrl}/_dev/clock`, { method: 'POST' })).message).toContain(
    'start agent-service with --dev',
  )
})

test('the authorization server answers for the API in JSON, with the CORS headers of the API', async () => {
  service = await createService({ dev: 'on' })
  const url = `${service.authUrl}/api/llm_models/search`
  const asked = { origin: page, 'access-control-request-method': 'POST' }
  const preflight = await service.fetch(url, { method: 'OPTIONS', headers: asked })
  expect({ status: preflight.status, headers: Object.fromEntries(preflight.headers) }).toEqual({
    status: 204,
    headers: expect.objectContaining({
      'access-control-allow-origin': page,
      'access-control-allow-methods': 'GET, POST',
      'access-control-allow-headers': 'authorization, content-type',
    }),
  })
  const headers = { origin: page, authorization: 'Bearer x', 'content-type': 'application/json' }
  const message = `this is the authorization server: set baseUrl to the API, ${service.baseUrl}`
  expect(await refused(url, { method: 'POST', headers, body: '{}' })).toEqual({
    status: 404,
    allowedOrigin: page,
    message,
  })
  const foreign = { ...headers, origin: 'https://evil.example' }
  expect(await refused(url, { method: 'POST', headers: foreign })).toEqual({
    status: 404,
    allowedOrigin: null,
    message,
  })
})

test('without dev controls, the authorization server names its role at the paths of the API, and no address', async () => {
  service = await createService()
  const message = 'this is the authorization server: set baseUrl to the API'
  expect(await refused(`${service.authUrl}/api/x`)).toEqual({ status: 404, allowedOrigin: null, message })
})

test('with dev controls, the page of an unknown address says which address is right', async () => {
  service = await createService({ dev: 'on' })
  const { authUrl, baseUrl } = service
  const text = async (path: string): Promise<string> => (await service.fetch(authUrl + path)).text()
  const endpoints = `The endpoints are ${authUrl}/auth/v1/authorize and ${authUrl}/auth/v1/token.`
  expect(await text('/auth/v1/auth/v1/authorize')).toContain(`Set authUrl to ${authUrl}, without a path.`)
  expect(await text('/openapi.json')).toContain(`It is on the API: ${baseUrl}/openapi.json`)
  expect(await text('/authorize')).toContain(endpoints)
  expect(await text('/.well-known/openid-configuration')).toContain(`This service publishes no metadata. ${endpoints}`)
  expect(await text('/')).toContain(`The dev controls are at ${authUrl}/_dev, the API is at ${baseUrl}.`)
})

test('without dev controls, the page of an unknown address names no address', async () => {
  service = await createService()
  const page = await (await service.fetch(`${service.authUrl}/nowhere`)).text()
  expect(page).not.toContain(service.authUrl)
  expect(page).not.toContain(service.baseUrl)
})
