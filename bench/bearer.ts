import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { measure } from 'mitata'
import type * as agentAuth from '../src/index.ts'
import type { Figure } from './figures.ts'

const accessToken = 'bench-access-token'
const init: RequestInit = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json' },
  body: '{"page":1}',
}
/** In a process of its own, so that it takes no time of the measured one. */
const answering = `require('node:http').createServer((request, response) => {
  request.resume().on('end', () => response.setHeader('content-type', 'application/json').end('{}'))
}).listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

/** Calls with a valid token through the bearer fetch, and the least that one could write by hand. */
export async function bearer(): Promise<Figure[]> {
  const response = new Response('{}')
  const server = spawn(process.execPath, ['-e', answering], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [port] = (await once(server.stdout, 'data')) as [Buffer]
    return [
      ...(await compare('stub of fetch', 'https://api.example.com', async () => response, { text: 2.5, request: 12 })),
      ...(await compare('server on loopback', `http://127.0.0.1:${String(port).trim()}`, fetch, {
        text: 1.05,
        request: 1.1,
      })),
    ]
  } finally {
    server.kill()
  }
}

async function compare(
  where: string,
  baseUrl: string,
  send: typeof fetch,
  most: { text: number; request: number },
): Promise<Figure[]> {
  const bearerFetch = await signedInFetch(baseUrl, send)
  // Called in turn, as an app does: a single URL would favor what remembers the last one.
  const urls = Array.from({ length: 16 }, (_, index) => `${baseUrl}/v1/parent-agents/${index}?page=${index}`)
  const microseconds = async (call: (url: string) => Promise<Response>): Promise<number> => {
    const { p50 } = await measure(async () => {
      for (const url of urls) await readToEnd(await call(url))
    })
    return p50 / 1_000 / urls.length
  }
  const textByHand = await microseconds((url) => {
    const headers = new Headers(init.headers)
    headers.set('authorization', `Bearer ${accessToken}`)
    return send(url, { ...init, headers })
  })
  const text = await microseconds((url) => bearerFetch(url, init))
  const requestByHand = await microseconds((url) => {
    const request = new Request(url, init)
    request.headers.set('authorization', `Bearer ${accessToken}`)
    return send(request)
  })
  const request = await microseconds((url) => bearerFetch(new Request(url, init)))
  return [
    figure(`call, ${where}`, text, textByHand, most.text),
    figure(`call with a Request, ${where}`, request, requestByHand, most.request),
  ]
}

function figure(name: string, value: number, byHand: number, most: number): Figure {
  return { name, value, unit: 'µs', peers: { 'by hand': byHand }, target: { most, of: 'by hand' } }
}

/** A stub gives the same answer each time, whose body can be read once. */
async function readToEnd(response: Response): Promise<void> {
  if (response.url !== '') await response.arrayBuffer()
}

async function signedInFetch(baseUrl: string, send: typeof fetch): Promise<typeof fetch> {
  const built = new URL('../dist/index.js', import.meta.url).href
  const { createAuthConfig, createBearerFetch, createSession } = (await import(built)) as typeof agentAuth
  const session = createSession(
    createAuthConfig({
      authUrl: 'https://auth.example.com',
      baseUrl,
      clientId: 'app',
      redirectUri: 'https://app.example.com/callback',
    }),
  )
  const nowMs = Date.now()
  const refreshToken = 'bench-refresh-token'
  await session.signIn({ accessToken, refreshToken, obtainedAtMs: nowMs, expiresAtMs: nowMs + 3_600_000 })
  return createBearerFetch(session, { baseUrl, fetch: send }) as typeof fetch
}
