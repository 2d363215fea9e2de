import { once } from 'node:events'
import { Agent, createServer, request as httpRequest, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { createBackend } from '../../src/backend/index.ts'
import { type BackendOptions, backendContext } from '../../src/backend/options.ts'
import { newSessionId, sessionKey } from '../../src/backend/session-cookie.ts'
import { createAuthConfig, createSession, memoryStorage } from '../../src/index.ts'
import { line, quietest } from './rounds.ts'

const target = 0.8
const calls = 1_500
const parallel = 16
const body = JSON.stringify({ limit: 10, offset: 0 })
const answer = JSON.stringify({ success: true, data: { items: [{ name: 'x'.repeat(1_000) }], count: 1 } })

/** A route through the backend, against the same route that forwards with `fetch` and asks for nothing. */
export async function proxy(): Promise<boolean> {
  const upstream = await listening(createServer(upstreamAnswer))
  const { backend, cookie } = await signedIn(upstream.url)
  const withAuth = await listening(
    serverOf(async (request) => (await backend.handle(request)) ?? new Response(null, { status: 404 })),
  )
  const plain = await listening(serverOf((request) => forward(upstream.url, request)))
  const headers = { cookie, 'x-agent-auth': '1', 'sec-fetch-site': 'same-origin' }
  const { auth, without } = await quietest(
    { auth: () => load(withAuth.url, headers), without: () => load(plain.url, headers) },
    9,
  )
  await Promise.all([upstream, withAuth, plain].map(({ close }) => close()))
  const perSecond = (ms: number): string => `${Math.round((calls * 1_000) / ms).toLocaleString('en-US')} requests/s`
  line('proxied call with a session', perSecond(auth))
  line('  the same route without auth', perSecond(without))
  line('  ratio', `${(without / auth).toFixed(2)} x (target: at least ${target} x)`)
  return without / auth >= target
}

const upstreamAnswer: RequestListener = (request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(answer))
}

async function forward(base: string, request: Request): Promise<Response> {
  const { pathname, search } = new URL(request.url)
  const answered = await fetch(base + pathname + search, {
    method: request.method,
    headers: { 'content-type': request.headers.get('content-type') ?? '' },
    body: await request.arrayBuffer(),
  })
  return new Response(answered.body, { status: answered.status, headers: { 'content-type': 'application/json' } })
}

async function signedIn(baseUrl: string): Promise<{ backend: ReturnType<typeof createBackend>; cookie: string }> {
  const options: BackendOptions = {
    authUrl: 'https://auth.example.com',
    baseUrl,
    clientId: 'app',
    redirectUri: 'http://127.0.0.1/auth/callback',
    sessions: memoryStorage(),
    secrets: ['a-secret-of-more-than-32-characters'],
    proxy: ['POST /api/search'],
  }
  const context = backendContext(options)
  const id = newSessionId(context)
  const session = createSession(createAuthConfig(options as Parameters<typeof createAuthConfig>[0]), {
    storage: options.sessions,
    key: await sessionKey(context, id),
  })
  await session.signIn({
    accessToken: 'a'.repeat(800),
    refreshToken: 'r',
    obtainedAtMs: Date.now(),
    expiresAtMs: Date.now() + 3_600_000,
  })
  return { backend: createBackend(options), cookie: `${context.sessionCookie.name}=${id}` }
}

function serverOf(fetch: (request: Request) => Promise<Response>): Server {
  return createAdaptorServer({ fetch, overrideGlobalObjects: false }) as Server
}

async function listening(server: Server): Promise<{ url: string; close(): Promise<void> }> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

async function load(url: string, headers: Record<string, string>): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: parallel })
  let left = calls
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      while (left-- > 0) await call(`${url}/api/search`, agent, headers)
    }),
  )
  agent.destroy()
}

function call(url: string, agent: Agent, headers: Record<string, string>): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers }
    const request = httpRequest(url, { method: 'POST', agent, headers: sent }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`))
      response.resume().on('end', resolve).on('error', reject)
    })
    request.on('error', reject).end(body)
  })
}
