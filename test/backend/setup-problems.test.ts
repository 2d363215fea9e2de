// An app that is reached or mounted in another way than its redirect URI says.
// Also tests src/backend/mistaken-call.ts, src/backend/node/listener.ts.
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { memoryStorage, type TokenStorage } from 'agent-auth'
import { toFastifyPlugin, toNodeHandler } from 'agent-auth/backend/node'
import express, { type Express } from 'express'
import fastify from 'fastify'
import { afterEach, expect, test, vi } from 'vitest'
import { appOrigin, type BackendRig, guard, searchPath } from '../support/backend-rig.ts'
import { listen } from '../support/listen.ts'
import { sendPlain } from '../support/plain-http.ts'
import { rigOf } from '../support/rig-of.ts'
import { failure } from '../support/token-flow.ts'
import { invalid } from '../support/wrong-calls.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  for (const close of closing.splice(0)) await close()
})

const redirectUri = 'http://127.0.0.1:3000/auth/callback'

const problem = (name: 'host' | 'path' | 'call' | 'mount' | 'subject', message: string): object => ({
  type: 'setup_problem',
  problem: name,
  cause: { name: 'AgentAuthError', code: 'config_invalid', message },
})

const problemsOf = ({ events }: BackendRig): unknown[] => events.filter(({ type }) => type === 'setup_problem')

/** An app on a real port. */
async function listening(app: RequestListener): Promise<string> {
  const server = createServer(app)
  closing.push(() => server.close())
  return `http://127.0.0.1:${await listen(server)}`
}

test('a login at another port than that of the redirect URI is one event that names both', async () => {
  const rig = await rigOf({ backend: { redirectUri } })
  const origin = await listening(express().use(toNodeHandler(rig.backend)))
  for (let login = 0; login < 2; login += 1)
    expect((await sendPlain(new Request(`${origin}/auth/login`))).status).toBe(302)
  const { host } = new URL(origin)
  expect(problemsOf(rig)).toEqual([
    problem(
      'host',
      `The login began at ${host}, but redirectUri is at 127.0.0.1:3000. Serve the app there, or register and set a callback at ${host}.`,
    ),
  ])
})

test.each<[what: string, at: string, headers?: Record<string, string>, redirectUri?: string]>([
  ['at the host of the redirect URI', 'http://127.0.0.1:3000'],
  ['whose Host header has it, behind a server with another URL', 'http://localhost:9', { host: '127.0.0.1:3000' }],
  [
    'from a page of the redirect URI, behind a development server',
    'http://127.0.0.1:9',
    { referer: 'http://127.0.0.1:3000/x' },
  ],
  ['at a host that is not on loopback', 'http://evil.example'],
  ['whose Host header is no host', 'http://127.0.0.1:3000', { host: 'a b' }],
  ['of an app that is not on loopback', 'http://127.0.0.1:9', {}, 'https://app.demo.example/auth/callback'],
])('a login %s is no setup problem', async (_, at, headers = {}, uri = redirectUri) => {
  const rig = await rigOf({ backend: { redirectUri: uri } })
  const answered = await rig.backend.handle(new Request(`${at}/auth/login`, { headers }))
  expect({ status: answered?.status, problems: problemsOf(rig) }).toEqual({ status: 302, problems: [] })
})

test('localhost in place of 127.0.0.1 is another host', async () => {
  const rig = await rigOf({ backend: { redirectUri } })
  await rig.backend.handle(new Request('http://localhost:3000/auth/login'))
  expect(problemsOf(rig)).toEqual([
    problem('host', 'The login began at localhost:3000, but redirectUri is at 127.0.0.1:3000. Open the app there.'),
  ])
})

test('a bridge under a mount path of Express, which cuts the path: one event says which path was expected', async () => {
  const rig = await rigOf({ backend: { redirectUri } })
  const bridge = getRequestListener(
    async (request) => (await rig.backend.handle(request)) ?? new Response(null, { status: 404 }),
    { overrideGlobalObjects: false },
  )
  const origin = await listening(express().use('/auth', (request, response) => void bridge(request, response)))
  for (const path of ['/auth/login?return_to=/', '/auth/callback?code=c&state=s'])
    expect((await sendPlain(new Request(origin + path))).status).toBe(404)
  expect(problemsOf(rig)).toEqual([
    problem(
      'path',
      '/login was requested, but the backend serves /auth/login. Pass the whole path on, or use toNodeHandler.',
    ),
  ])
})

test.each<[what: string, path: string, headers?: Record<string, string>, redirectUri?: string]>([
  ['a page of the app', '/login'],
  ['another path with a return URL', '/welcome?return_to=/'],
  ['the root, with a state', '/?state=s'],
  ['an app that is not on loopback', '/login?return_to=/', {}, 'https://app.demo.example/auth/callback'],
])('%s is no setup problem', async (_, path, headers = {}, uri = redirectUri) => {
  const rig = await rigOf({ backend: { redirectUri: uri } })
  expect(await rig.backend.handle(new Request(`http://127.0.0.1:3000${path}`, { headers }))).toBe(null)
  expect(problemsOf(rig)).toEqual([])
})

test('a request with the header of the backend tells of a cut path as well', async () => {
  const rig = await rigOf({ backend: { redirectUri } })
  const request = new Request('http://127.0.0.1:3000/logout', { method: 'POST', headers: guard })
  expect(await rig.backend.handle(request)).toBe(null)
  expect(problemsOf(rig)).toMatchObject([
    { problem: 'path', cause: { message: expect.stringMatching(/^\/logout was requested/) } },
  ])
})

test.each<[host: string, mount: (handle: RequestListener) => RequestListener]>([
  ['node:http', (handle) => handle],
  ['Express', (handle) => express().use(handle)],
])('handle as a listener of %s: every request gets 500 with what to use, and one event says it', async (_, mount) => {
  const rig = await rigOf({ backend: { redirectUri } })
  const origin = await listening(mount(rig.backend.handle as unknown as RequestListener))
  const message =
    'Configuration: handle needs a Request of the Fetch API. For node:http, Express and Fastify, use agent-auth/backend/node.'
  for (const path of ['/auth/login', '/']) {
    const answered = await sendPlain(new Request(origin + path))
    expect({ status: answered.status, body: await answered.json() }).toEqual({
      status: 500,
      body: { code: 'config_invalid', message, retryable: false },
    })
    expect(answered.headers.get('cache-control')).toBe('no-store')
  }
  expect(problemsOf(rig)).toEqual([problem('call', message)])
})

/** Cuts the mount path as Connect does, which the development server of Vite is made of. */
const connect = (mount: string, handle: RequestListener): RequestListener =>
  function listener(request: IncomingMessage & { originalUrl?: string | undefined }, response) {
    request.originalUrl = request.url
    request.url = request.url?.slice(mount.length) || '/'
    handle(request, response)
  }

test.each<[framework: string, mount: (handle: RequestListener) => RequestListener]>([
  ['Express', (handle) => express().use('/auth', handle)],
  ['Express with a wildcard', (handle) => express().use('/auth/*rest', handle)],
  ['Connect', (handle) => connect('/auth', handle)],
])('toNodeHandler under a mount path of %s that hides routes: one event names the first of them', async (_, mount) => {
  const rig = await rigOf({ backend: { redirectUri } })
  const origin = await listening(mount(toNodeHandler(rig.backend)))
  for (const path of ['/auth', '/auth/session', '/auth/other'])
    await (await sendPlain(new Request(origin + path))).arrayBuffer()
  const message = `The backend is mounted under /auth, where POST ${searchPath} does not arrive. Mount it by use(…) without a path.`
  expect(problemsOf(rig)).toEqual([problem('mount', message)])
})

test.each<[what: string, mount: string, path: string, backend?: object]>([
  ['no path', '/', '/auth/session'],
  ['a wildcard', '/{*rest}', '/auth/session'],
  ['a path with all routes', '/auth', '/auth/session', { proxy: [] }],
  ['a path with a parameter', '/tenants/:id', '/tenants/7/x'],
  ['a parameter', '/:first', '/auth/session'],
  ['a parameter and a wildcard', '/:first/*rest', '/auth/session'],
  [
    'a path, of an app that is not on loopback',
    '/auth',
    '/auth/session',
    { redirectUri: `${appOrigin}/auth/callback` },
  ],
])('toNodeHandler under %s is no setup problem', async (_, mount, path, backend = {}) => {
  const rig = await rigOf({ backend: { redirectUri, ...backend } })
  const origin = await listening(express().use(mount, toNodeHandler(rig.backend)))
  await (await sendPlain(new Request(origin + path))).arrayBuffer()
  expect(problemsOf(rig)).toEqual([])
})

test('handle without a Request leaves a response that has begun as it is', async () => {
  const rig = await rigOf()
  const handle = rig.backend.handle as unknown as RequestListener
  const origin = await listening(async (request, response) => {
    response.writeHead(202)
    await handle(request, response)
    response.end()
  })
  expect((await sendPlain(new Request(origin))).status).toBe(202)
  expect(problemsOf(rig)).toEqual([])
})

test('without onEvent a setup problem is a line on the console, and the first failure is one as well', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  const unreachable = (): never => {
    throw new TypeError('fetch failed')
  }
  const rig = await rigOf({ api: unreachable, backend: { redirectUri, onEvent: undefined } })
  await rig.backend.handle(new Request('http://127.0.0.1:9/auth/login'))
  const browser = rig.browser()
  await browser.logIn()
  const headers = { ...guard, 'content-type': 'application/json' }
  for (let call = 0; call < 2; call += 1) await browser.send(searchPath, { method: 'POST', body: '{}', headers })
  expect(warn.mock.calls).toEqual([
    [
      expect.stringMatching(
        /^agent-auth: setup_problem: The login began at 127\.0\.0\.1:9, but .*receive every event\.$/,
      ),
    ],
    [expect.stringMatching(/^agent-auth: proxied: /)],
  ])
})

test('endSessionsOf with an email address, which ends no session in memory, is one event that names the claim', async () => {
  const rig = await rigOf({ backend: { redirectUri } })
  const browser = rig.browser()
  await browser.logIn()
  for (let call = 0; call < 2; call += 1) await rig.backend.endSessionsOf('ada@demo.example')
  expect(problemsOf(rig)).toEqual([
    problem(
      'subject',
      'endSessionsOf found no session in memory with this subject. Pass session.claims?.subject, and no email address or name.',
    ),
  ])
  expect((await rig.backend.getSession(browser.request('/'))).status).toBe('signed-in')
})

test('endSessionsOf with text that is not well-formed says so of the subject, because no session has it', async () => {
  const { backend } = await rigOf({ backend: { redirectUri } })
  expect(await failure(backend.endSessionsOf('\ud800'))).toMatchObject(invalid('subject must be well-formed text'))
})

test.each<[what: string, uri: string, from: 'claims' | 'elsewhere', logins: number]>([
  ['the subject of the claims', redirectUri, 'claims', 1],
  ['a subject without any session in memory', redirectUri, 'elsewhere', 0],
  ['an email address, of an app that is not on loopback,', 'https://app.demo.example/auth/callback', 'elsewhere', 1],
])('endSessionsOf with %s is no setup problem', async (_, uri, from, logins) => {
  const rig = await rigOf({ backend: { redirectUri: uri } })
  const browser = rig.browser()
  if (logins) await browser.logIn()
  const session = await rig.backend.getSession(browser.request('/'))
  const subject = session.status === 'signed-out' ? undefined : session.claims?.subject
  await rig.backend.endSessionsOf((from === 'claims' && subject) || 'ada@demo.example')
  expect(problemsOf(rig)).toEqual([])
  if (from === 'claims') expect((await rig.backend.getSession(browser.request('/'))).status).toBe('signed-out')
})

test('endSessionsOf beside a request with a cookie of no session is no setup problem', async () => {
  const elsewhere = (await rigOf({ backend: { redirectUri } })).browser()
  await elsewhere.logIn()
  const stored = memoryStorage()
  let heldReads = 0
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const sessions: TokenStorage = {
    ...stored,
    async getItem(name) {
      if (!name.includes(':ended')) {
        heldReads++
        await held
      }
      return stored.getItem(name)
    },
  }
  const rig = await rigOf({ backend: { redirectUri, sessions } })
  const pending = rig.backend.getSession(elsewhere.request('/'))
  await expect.poll(() => heldReads).toBe(1)
  const ended = rig.backend.endSessionsOf('ada@demo.example')
  release()
  await ended
  expect((await pending).status).toBe('signed-out')
  expect(problemsOf(rig)).toEqual([])
})

test('endSessionsOf refuses the key of a session and names endSession', async () => {
  const rig = await rigOf({ backend: { redirectUri } })
  const browser = rig.browser()
  await browser.logIn()
  const session = await rig.backend.getSession(browser.request('/'))
  if (session.status === 'signed-out') throw new Error('No user is signed in.')
  expect(await failure(rig.backend.endSessionsOf(session.key))).toMatchObject(
    invalid('subject must not be session.key. Pass session.claims?.subject, or call endSession(key)'),
  )
  expect(rig.events.filter(({ type }) => type === 'sessions_ended')).toEqual([])
})

test.each<
  [what: string, mount: (app: Express, handle: RequestListener) => unknown, where: string, hidden: string | undefined]
>([
  ['get with a wildcard', (app, handle) => app.get('/auth/*rest', handle), '/auth', 'POST /auth/logout'],
  ['get of every path', (app, handle) => app.get('/{*rest}', handle), '/', 'POST /auth/logout'],
  ['all with a wildcard', (app, handle) => app.all('/auth/*rest', handle), '/auth', `POST ${searchPath}`],
  ['all with a parameter', (app, handle) => app.all('/auth/:name', handle), '/auth', `POST ${searchPath}`],
  ['all of every path', (app, handle) => app.all('/{*rest}', handle), '/', undefined],
])('a route of Express, %s: one event names the first route that it hides', async (_, mount, where, hidden) => {
  const rig = await rigOf({ backend: { redirectUri } })
  const app = express()
  mount(app, toNodeHandler(rig.backend) as RequestListener)
  const origin = await listening(app)
  for (let call = 0; call < 2; call += 1)
    await (await sendPlain(new Request(`${origin}/auth/session`, { headers: guard }))).arrayBuffer()
  const message = `The backend is mounted under ${where}, where ${hidden} does not arrive. Mount it by use(…) without a path.`
  expect(problemsOf(rig)).toEqual(hidden ? [problem('mount', message)] : [])
})

test.each<[what: string, isScope: boolean]>([
  ['a scope of Fastify', true],
  ['a Fastify app', false],
])('toFastifyPlugin in %s: %s an event', async (_, isScope) => {
  const rig = await rigOf({ backend: { redirectUri } })
  const app = fastify()
  const plugin = toFastifyPlugin(rig.backend)
  app.register(isScope ? async (scope) => void scope.register(plugin) : plugin)
  await app.ready()
  closing.push(() => app.close())
  const message =
    'toFastifyPlugin is in a scope of the Fastify app, where it gets the routes of the scope alone. Register it on the app.'
  expect(problemsOf(rig)).toEqual(isScope ? [problem('mount', message)] : [])
})
