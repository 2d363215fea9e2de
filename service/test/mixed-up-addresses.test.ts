import { afterEach, expect, test } from 'vitest'
import type { Service } from '../src/index.ts'
import { createService } from './start.ts'

let service: Service
afterEach(() => service.close())

test('with dev controls, the API answers the login of an app that mixed up the two addresses', async () => {
  service = await createService({ dev: 'on' })
  for (const [method, path] of [
    ['GET', '/auth/v1/authorize?response_type=code'],
    ['POST', '/auth/v1/token?grant_type=authorization_code'],
  ] as const) {
    const response = await service.fetch(service.baseUrl + path, { method })
    expect(response.status).toBe(404)
    expect(await response.json()).toMatchObject({
      error_type: 'not_found',
      error_message: `this is the API: set authUrl to the authorization server, ${service.authUrl}`,
    })
  }
})

test('A-52 without dev controls, the API answers 401 there as at every unknown address', async () => {
  service = await createService()
  expect((await service.fetch(`${service.baseUrl}/auth/v1/authorize`)).status).toBe(401)
})

test('with dev controls, the page of an unknown address names the address that is wrong', async () => {
  service = await createService({ dev: 'on' })
  const text = async (path: string): Promise<string> => (await service.fetch(service.authUrl + path)).text()
  expect(await text('/auth/v1/auth/v1/authorize')).toContain(`Set authUrl to ${service.authUrl}, without a path.`)
  expect(await text('/api/llm_models/search')).toContain(`Set baseUrl to the API, ${service.baseUrl}.`)
  expect(await text('/nowhere')).not.toContain('Set ')
})

test('without dev controls, the page of an unknown address names no address', async () => {
  service = await createService()
  expect(await (await service.fetch(`${service.authUrl}/api/x`)).text()).not.toContain('Set ')
})
