import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Backend } from 'agent-auth/backend'
import { type Service, startService } from 'agent-service'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clientOf } from '../../service/test/support/login.ts'
import { AppBrowser, guard, statusAndCode } from '../support/backend-rig.ts'
import { runFile } from '../support/example.ts'
import { freePort } from '../support/free-port.ts'
import { runNext } from '../support/next-app.ts'
import { sendPlain } from '../support/plain-http.ts'
import { isThere } from '../support/programs.ts'
import { serverUrl } from '../support/servers-client.ts'

// The adapters of examples/node-backend, each as a process on a real port, with a service on real ports.

const folder = fileURLToPath(new URL('../../examples/node-backend/adapters/', import.meta.url))
const files = ['hono', 'express', 'fastify', 'node-http']
const adapters = [...files, 'next']

let service: Service
const ports = new Map<string, number>()
const stops: (() => unknown)[] = []

beforeAll(async () => {
  for (const name of adapters) ports.set(name, await freePort())
  const redirectUris = [...ports.values()].map((port) => `http://127.0.0.1:${port}/auth/callback`)
  service = await startService({ dev: 'on', redirectUris })
  service.dev.autoApprove('ada@demo.example')
  stops.push(() => service.close())
  const started = files.map((name) => runFile(`${folder}${name}.ts`, environment(name), 'Listening on'))
  if (isThere('redis'))
    started.push(runNext(`${folder}next`, { ...environment('next'), REDIS_URL: await serverUrl('redis') }))
  await Promise.all(started.map(async (stop) => stops.push(await stop)))
})

afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()))
})

/** The bundles of Next.js share their sessions through Redis. */
function tagsFor(name: string): string[] {
  return name === 'next' ? ['redis'] : []
}

function environment(name: string): Record<string, string> {
  const { clientId, clientSecret = '' } = clientOf(service, 'Demo confidential')
  return {
    AGENT_AUTH_URL: service.authUrl,
    AGENT_BASE_URL: service.baseUrl,
    AGENT_CLIENT_ID: clientId,
    AGENT_CLIENT_SECRET: clientSecret,
    COOKIE_SECRET: 'a-secret-of-this-test-that-is-long-enough',
    PORT: String(ports.get(name)),
  }
}

function browserAt(name: string): AppBrowser {
  const forServer = (): Promise<never> => Promise.reject(new Error('That is for the server.'))
  const overHttp: Backend = {
    handle: sendPlain,
    serves: () => true,
    isSameOrigin: () => true,
    basePath: '/auth',
    getSession: forServer,
    endSession: forServer,
    endSessionsOf: forServer,
    endAll: forServer,
  }
  return new AppBrowser(service, overHttp, `http://127.0.0.1:${ports.get(name)}/auth/callback`)
}

const search = (value: string): RequestInit => ({
  body: JSON.stringify({ limit: 5, offset: 0, search_value: value }),
})
const agents = '/api/parent_agents/search'

for (const name of adapters)
  describe(`the adapter ${name}`, { tags: tagsFor(name) }, () => {
    test('logs in, calls the API, and logs out', async () => {
      const person = browserAt(name)
      const finished = await person.logIn('/agents?page=2')
      expect(finished.status).toBe(200)
      expect(await finished.text()).toContain('href="/agents?page=2"')
      // The framework passes both cookie lines on: the session's and the removal of the pending login's.
      expect(finished.headers.getSetCookie()).toHaveLength(2)
      expect(person.lines.at(-2)).toMatch(/^agent-auth-\d+=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/)
      expect([...person.cookies.keys()]).toEqual([`agent-auth-${ports.get(name)}`])
      expect(await person.status()).toBe('signed-in')
      const found = await person.call(agents, search('invoice'))
      expect(found.status).toBe(200)
      expect(await found.json()).toMatchObject({ data: { count: 1 } })
      expect((await person.logOut()).status).toBe(200)
      expect(await person.status()).toBe('signed-out')
      expect((await person.call(agents, search(''))).status).toBe(401)
    })

    test('refuses what comes from elsewhere, and serves nothing that is not listed', async () => {
      const person = browserAt(name)
      await person.logIn()
      const crossSite = { 'sec-fetch-site': 'cross-site' }
      expect(await statusAndCode(await person.call(agents, { ...search(''), headers: crossSite }))).toEqual({
        status: 403,
        code: 'origin_forbidden',
      })
      expect((await person.send('/auth/logout', { method: 'POST' })).status).toBe(403)
      expect((await person.call('/api/llm_models/search')).status).toBe(404)
      expect(await person.status()).toBe('signed-in')
    })

    test('a body over 1 MiB is refused, and the next request works', async () => {
      const person = browserAt(name)
      await person.logIn()
      expect((await person.call(agents, search('x'.repeat(1_200_000)))).status).toBe(413)
      expect((await person.call(agents, search('invoice'))).status).toBe(200)
    })
  })

for (const name of adapters)
  test(`the page of ${name} knows who is signed in`, { tags: tagsFor(name) }, async () => {
    const person = browserAt(name)
    const before = await person.send('/')
    expect(before.headers.get('cache-control')).toContain('no-store')
    expect(await shown(before)).toBe('signed-out')
    await person.logIn()
    expect(await shown(await person.send('/', { headers: guard }))).toBe('signed-in')
  })

for (const name of files)
  test(`the protected page of ${name} redirects visitors to the login, and has a button to sign out`, async () => {
    const person = browserAt(name)
    const visitor = await person.send('/account')
    expect(visitor.status).toBe(302)
    expect(visitor.headers.get('location')).toBe('/auth/login?return_to=/account')
    await person.logIn('/account')
    const page = await person.send('/account', { headers: guard })
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(await page.text()).toMatch(/^<p>account<\/p><button id="signOut">/)
  })

/** Returns the text of a page, or the paragraph of a document. */
async function shown(page: Response): Promise<string | undefined> {
  const text = await page.text()
  return text.startsWith('<') ? /<p>([^<]*)/.exec(text)?.[1] : text
}

test('the routes and the page of Next.js, each a bundle of its own, have one backend', {
  tags: ['redis'],
}, async () => {
  const person = browserAt('next')
  await person.logIn()
  expect((await person.call(agents, search('invoice'))).status).toBe(200)
  expect(await shown(await person.send('/'))).toBe('signed-in')
  const redis = new Redis(await serverUrl('redis'))
  const connections = String(await redis.client('LIST').finally(() => redis.disconnect()))
  expect(connections.match(/ name=next-app /g)).toHaveLength(1)
})

test('every adapter is run here, and mounts the backend and a page in at most 17 lines', () => {
  expect(readdirSync(folder).sort()).toEqual(['backend.ts', 'next', ...files.map((name) => `${name}.ts`)].sort())
  for (const name of files) expect(linesOf(`${name}.ts`)).toBeLessThanOrEqual(17)
  const parts = readdirSync(`${folder}next/app`, { recursive: true, encoding: 'utf8' })
  const handlers = parts.filter((path) => path.endsWith('route.ts'))
  expect(handlers.reduce((sum, path) => sum + linesOf(`next/app/${path}`), 0)).toBeLessThanOrEqual(10)
})

function linesOf(path: string): number {
  return readFileSync(folder + path, 'utf8')
    .trimEnd()
    .split('\n').length
}
