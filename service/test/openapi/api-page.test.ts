// Also tests service/src/openapi/renderer.ts, service/src/openapi/routes.ts, service/src/store/tables/clients.ts.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import { findClientReturningTo } from '../../src/store/tables/clients.ts'
import { hashOf } from '../../src/ui/style.ts'
import { clientOf } from '../support/login.ts'
import { assemble, createService } from '../support/start.ts'

const rendererFolder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
const redirectPath = '/docs/oauth2-redirect.html'

let service: Service
beforeAll(async () => {
  service = await createService({ dev: 'on' })
})
afterAll(() => service.close())

async function get(path: string, from = service): Promise<{ response: Response; text: string }> {
  const response = await from.fetch(from.baseUrl + path, { redirect: 'manual' })
  return { response, text: await response.text() }
}

test('the API page allows files of its origin and two inline texts by their hashes, and requests to the two origins', async () => {
  const { response, text } = await get('/docs')
  const hashes = (tag: string) =>
    [...text.matchAll(new RegExp(`<${tag}(?: type="module")?>([\\s\\S]*?)</${tag}>`, 'g'))].map(([, inline = '']) =>
      hashOf(inline),
    )
  expect(response.headers.get('content-security-policy')?.split('; ')).toEqual([
    "default-src 'none'",
    `script-src 'self' ${hashes('script').join(' ')}`,
    `style-src 'self' ${hashes('style').join(' ')}`,
    "img-src 'self' data:",
    `connect-src 'self' ${service.authUrl}`,
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ])
  expect({ status: response.status, cacheControl: response.headers.get('cache-control') }).toEqual({
    status: 200,
    cacheControl: 'no-store',
  })
  const loaded = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, target]) => target)
  expect(loaded).toEqual(['docs/swagger-ui.css', 'openapi.json', 'docs/swagger-ui-bundle.js'])
})

test.each([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['oauth2-redirect.html', 'text/html; charset=utf-8'],
  ['oauth2-redirect.js', 'text/javascript; charset=utf-8'],
])('the API page gets %s as the package of the renderer has it', async (name, type) => {
  const { response, text } = await get(`/docs/${name}`)
  expect({ status: response.status, contentType: response.headers.get('content-type') }).toEqual({
    status: 200,
    contentType: type,
  })
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'")
  expect(text === (await readFile(join(rendererFolder, name), 'utf8'))).toBe(true)
})

test.each(['package.json', 'swagger-ui.css.map', '..%2fpackage.json', 'constructor', '%2e%2e/LICENSE'])(
  'the API page has no other file of the package: %s',
  async (name) => {
    expect((await get(`/docs/${name}`)).response.status).toBe(401)
  },
)

test('with dev controls the API page names a public client that may return to it, otherwise it says which to register', async () => {
  const client = clientOf(service, 'Demo public')
  expect(client.redirectUris).toContain(`http://127.0.0.1${redirectPath}`)
  const { text } = await get('/docs')
  expect(text).toContain(`data-client-id="${client.clientId}" data-redirect-uri="${service.baseUrl}${redirectPath}"`)
  const plain = await createService()
  const { text: plainText } = await get('/docs', plain)
  await plain.close()
  expect(plainText).toContain('data-client-id=""')
  expect(plainText).toContain(`<code>${plain.baseUrl}${redirectPath}</code>`)
  for (const { clientId } of plain.clients) expect(plainText).not.toContain(clientId)
})

test('the API page is at the spelling of loopback that its redirect URI has', async () => {
  const address = service.baseUrl.replace('127.0.0.1', 'localhost')
  const headers = { host: new URL(address).host }
  const response = await service.fetch(`${service.baseUrl}/docs`, { headers, redirect: 'manual' })
  expect({ status: response.status, location: response.headers.get('location') }).toEqual({
    status: 302,
    location: `${service.baseUrl}/docs`,
  })
})

test('the client that the API page names is the first active public one with its redirect URI', async () => {
  const redirectUri = 'https://api.example/docs/oauth2-redirect.html'
  const { service: own, context } = await assemble({ redirectUris: [redirectUri] })
  const found = () => findClientReturningTo(context.store.db, redirectUri)
  expect(await found()).toBe(clientOf(own, 'Demo public').clientId)
  await context.store.forTenant('demo').clients.setActive(clientOf(own, 'Demo public').clientId, 'inactive')
  expect(await found()).toBe(clientOf(own, 'Other public').clientId)
  await context.store.forTenant('other').clients.setActive(clientOf(own, 'Other public').clientId, 'inactive')
  expect(await found()).toBeUndefined()
  expect(await findClientReturningTo(context.store.db, 'https://api.example/docs')).toBeUndefined()
  await own.close()
})
