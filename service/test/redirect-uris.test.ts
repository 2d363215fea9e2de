import { expect, test } from 'vitest'
import { matchesRegistered, refuseRegistration } from '../src/redirect-uris.ts'
import { authorizeUrl, Browser, clientOf } from './support/login.ts'
import { createService } from './support/start.ts'

const registered = 'http://127.0.0.1/a/cb'

test.each([
  'HTTP://127.0.0.1/a/cb',
  'http://LOCALHOST/a/cb',
  'http://localhost/a/cb',
  'http://127.1/a/cb',
  'http://2130706433/a/cb',
  'http://0x7f.1/a/cb',
  'http://127.0.0.1./a/cb',
  'http://[::ffff:127.0.0.1]/a/cb',
  'http://127.0.0.1/b/../a/cb',
  'http://127.0.0.1/a/cb?',
  'http://127.0.0.1/a/cb/',
  'http://127.0.0.1/a/%63b',
  'http://user@127.0.0.1/a/cb',
  'http://127.0.0.1:0/a/cb',
  'http://127.0.0.1:99999/a/cb',
  'http://127.0.0.1:80@evil.example/a/cb',
  'http://[::1]/a/cb',
  'https://127.0.0.1/a/cb',
])('%s is another text than the registered one', (sent) => {
  expect(matchesRegistered(sent, registered, 'public')).toBe(false)
})

test('only the port of a public loopback literal is free', () => {
  expect(matchesRegistered('http://127.0.0.1:61234/a/cb', registered, 'public')).toBe(true)
  expect(matchesRegistered('http://127.0.0.1:61234/a/cb', registered, 'confidential')).toBe(false)
  expect(matchesRegistered('https://x.example:1/cb', 'https://x.example/cb', 'public')).toBe(false)
})

test('the authorize endpoint refuses what does not match, with a page and without a Location', async () => {
  const service = await createService()
  const client = clientOf(service, 'Demo confidential')
  for (const redirectUri of ['http://127.0.0.1:61234/auth/callback', 'https://app.demo.example/callback/']) {
    const page = await new Browser(service.fetch).get(authorizeUrl(service, { client, redirectUri }).url)
    expect({ status: page.status, next: page.next }).toEqual({ status: 400, next: undefined })
  }
  await service.close()
})

test.each([
  'javascript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'http://example.com/cb',
  'http://localhost:3000/cb',
  'https://*.x/cb',
  'https://x/#a',
  'https://user@x/cb',
  'https://x/\u0001',
  'https:///cb',
  `https://x/${'a'.repeat(2_100)}`,
])('%s cannot be registered', async (uri) => {
  expect(refuseRegistration([uri])).toContain('cannot be a redirect URI')
  await expect(createService({ redirectUris: [uri] })).rejects.toThrow('cannot be a redirect URI')
})

test('a client has 1 to 10 redirect URIs', () => {
  const many = Array.from({ length: 11 }, (_, index) => `https://x.example/${index}`)
  expect(refuseRegistration([])).toBeDefined()
  expect(refuseRegistration(many)).toBeDefined()
  expect(refuseRegistration(many.slice(1))).toBeUndefined()
  expect(refuseRegistration(['http://[::1]:8080/cb', 'http://127.0.0.1/cb'])).toBeUndefined()
})
