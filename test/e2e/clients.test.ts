import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { createBearerFetch } from 'agent-auth'
import { testService } from 'agent-auth/testing'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { listen } from '../support/listen.ts'

// In examples/frameworks, because these packages are beside those of the repository.
const example = (file: string) =>
  import(/* @vite-ignore */ fileURLToPath(new URL(`../../examples/frameworks/${file}.ts`, import.meta.url)))
const { axiosOf, axiosWithInterceptors, ofetchOf } = await example('clients')
const { calls } = (await example('recipes')) as {
  calls: Readonly<Record<string, (fetch: typeof globalThis.fetch, url: string) => Promise<unknown>>>
}
const service = await testService({ after: afterAll, transport: 'loopback' })
const { session, baseUrl, dev } = service

const path = '/api/llm_models/search'
const count = ({ data }: { data: { count: number } }): number => data.count

test.each<[string, () => Promise<{ data: { count: number } }>]>([
  ['axios', async () => (await axiosOf(service.fetch, baseUrl).post(path, { limit: 1, offset: 0 })).data],
  [
    'axios with interceptors',
    async () => (await axiosWithInterceptors(session, baseUrl).post(path, { limit: 1, offset: 0 })).data,
  ],
  ['ofetch', () => ofetchOf(service.fetch, baseUrl)(path, { method: 'POST', body: { limit: 1, offset: 0 } })],
])('%s sends the token, and sends a request again with a new one after a 401', async (_, send) => {
  // A 401 so soon after a refresh would be final.
  service.advance(60_000)
  expect(count(await send())).toBeGreaterThan(0)
  const before = await session.getAccessToken()
  await dev.expireAccessTokens()
  expect(count(await send())).toBeGreaterThan(0)
  expect(await session.getAccessToken()).not.toBe(before)
})

test.each(Object.entries(calls))('%s takes the bearer fetch, and its call succeeds after a 401', async (_, call) => {
  service.advance(60_000)
  const refused = await session.getAccessToken()
  const accepted = new Set<string | undefined>()
  /** Speaks as much of GraphQL, MCP and server-sent events as one call needs. */
  const server = createServer(async (request, response) => {
    const { authorization, accept, 'mcp-protocol-version': mcp } = request.headers
    if (!authorization?.startsWith('Bearer ') || authorization.endsWith(refused)) return response.writeHead(401).end()
    accepted.add(authorization)
    if (request.method === 'GET' && mcp) return response.writeHead(405).end()
    if (accept === 'text/event-stream')
      return response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: world\n\n')
    const { jsonrpc, id, params } = Object(request.method === 'POST' && (await json(request)))
    if (jsonrpc && id === undefined) return response.writeHead(202).end()
    const { protocolVersion } = Object(params)
    const result = { protocolVersion, capabilities: {}, serverInfo: { name: 'world', version: '1' } }
    const body = jsonrpc ? { jsonrpc, id, result } : { data: { hello: 'world' } }
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${await listen(server)}`
  expect(await call(createBearerFetch(session, { baseUrl: url }), url)).toBe('world')
  expect([...accepted]).toEqual([`Bearer ${await session.getAccessToken()}`])
})
