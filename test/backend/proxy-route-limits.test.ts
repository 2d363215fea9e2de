// Routes of the proxy with limits of their own.
import { afterEach, expect, test, vi } from 'vitest'
import { statusAndCode } from '../support/backend-rig.ts'
import { type ProxyRig, proxyRig } from '../support/proxy-rig.ts'
import { until } from '../support/until.ts'

afterEach(() => {
  vi.useRealTimers()
})

const proxy = [
  'POST /api/items',
  { route: 'POST /api/notes', maxBodyBytes: 2_000 },
  { route: 'POST /api/files', maxBodyBytes: 4_194_304 },
  { route: 'GET /api/reports/:id', timeoutMs: 120_000 },
  { route: 'GET /api/items', query: ['limit', 'tag[]'] },
]

const rigOfRoutes = (answer?: (request: Request) => Response | Promise<Response>): Promise<ProxyRig> =>
  proxyRig(answer, { backend: { proxy } })

test.each([
  ['/api/notes', 2_000, 200],
  ['/api/notes', 2_001, 413],
  ['/api/items', 1_048_577, 413],
  ['/api/files', 4_194_304, 200],
  ['/api/files', 4_194_305, 413],
] as const)('a body for %s of %i bytes, with or without its length: %i', async (path, bytes, status) => {
  const received: number[] = []
  const rig = await rigOfRoutes(async (request) => {
    received.push((await request.arrayBuffer()).byteLength)
    return new Response(null)
  })
  const whole = 'x'.repeat(bytes)
  const declared = await rig.get(path, { method: 'POST', body: whole, headers: { 'content-length': String(bytes) } })
  const streamed = await rig.get(path, {
    method: 'POST',
    body: new Blob([whole]).stream(),
    duplex: 'half',
  } as RequestInit)
  expect({ declared: declared.status, streamed: streamed.status }).toEqual({ declared: status, streamed: status })
  if (status === 200) return expect(received).toEqual([bytes, bytes])
  expect(received).toEqual([])
  const limit = { '/api/notes': '2000 bytes', '/api/items': '1 MiB', '/api/files': '4 MiB' }[path]
  expect(await declared.json()).toMatchObject({
    message: `The request body is larger than ${limit}. Send a smaller one.`,
  })
})

test('an API that does not respond within the time of its route: 504', async () => {
  const rig = await rigOfRoutes(() => new Promise(() => {}))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const call = rig.get('/api/reports/7')
  await until(() => rig.seen.length > 0)
  await vi.advanceTimersByTimeAsync(119_999)
  expect(rig.seen[0]?.signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(await (await call).json()).toMatchObject({
    code: 'timeout',
    message: 'The API did not respond within 120 s. Try again.',
  })
})

test.each([
  ['', ''],
  ['?', ''],
  ['?limit=5&limit=6', '?limit=5&limit=6'],
  ['?limit=%35&tag[]=a%20b', '?limit=5&tag%5B%5D=a+b'],
  ['?limit=5;admin=1', '?limit=5%3Badmin%3D1'],
])('a query %s with listed names alone is sent as the proxy read it: %s', async (search, sent) => {
  const rig = await rigOfRoutes()
  expect((await rig.get(`/api/items${search}`)).status).toBe(200)
  expect(rig.seen[0]?.url).toBe(`${rig.service.baseUrl}/api/items${sent}`)
})

test.each(['?admin=1', '?limit=5&admin=1', '?limit=5&%61dmin', '?Limit=5', '?=5', '?__proto__=1'])(
  'a query %s with a name that is not listed: 400, and the API is not called',
  async (search) => {
    const rig = await rigOfRoutes()
    expect(await statusAndCode(await rig.get(`/api/items${search}`))).toEqual({ status: 400, code: 'origin_forbidden' })
    expect(rig.events.at(-1)).toEqual({ type: 'proxy_refused', route: 'GET /api/items', status: 400, reason: 'query' })
    expect(rig.seen).toEqual([])
  },
)
