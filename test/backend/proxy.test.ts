import { afterEach, describe, expect, test, vi } from 'vitest'
import { type AppBrowser, guard, statusAndCode } from '../support/backend-rig.ts'
import { pathVectors } from '../support/path-vectors.ts'
import { proxyRig } from '../support/proxy-rig.ts'
import { until } from '../support/until.ts'

afterEach(() => {
  vi.useRealTimers()
})

describe('which requests go through', () => {
  test('the listed pairs of method and path, with their parameters and query', async () => {
    const rig = await proxyRig()
    for (const [path, called] of [
      ['/api/items/7', '/api/items/7'],
      ['/api/items/a%20b?x=1&x=2', '/api/items/a%20b?x=1&x=2'],
      ['/api/items/caf%C3%A9', '/api/items/caf%C3%A9'],
      ['/api/items/a:b@c!', '/api/items/a%3Ab%40c!'],
      ['/api/items/v1.2..3/parts/~x', '/api/items/v1.2..3/parts/~x'],
      ['/api/items/7?next=https://evil.example/../..', '/api/items/7?next=https://evil.example/../..'],
    ] as const) {
      expect((await rig.get(path)).status).toBe(200)
      expect(rig.seen.at(-1)?.url).toBe(rig.service.baseUrl + called)
    }
    for (const [method, path] of [
      ['DELETE', '/api/items/7'],
      ['POST', '/api/items/7'],
      ['HEAD', '/api/items/7'],
      ['GET', '/api/items'],
      ['GET', '/api/items/'],
      ['GET', '/api/items/7/'],
      ['GET', '/api/items/7/parts'],
      ['GET', '/API/items/7'],
      ['GET', '/api/%69tems/7'],
    ] as const)
      expect(await rig.backend.handle(rig.person.request(path, { method, headers: guard }))).toBeNull()
    expect(rig.seen).toHaveLength(6)
  })

  test('a base path of the API is kept, and cannot be left', async () => {
    const rig = await proxyRig()
    const browser = rig.browser(rig.another({ baseUrl: `${rig.service.baseUrl}/v1/` }))
    browser.setCookie(...rig.person.session())
    await browser.send('/api/items/7', { headers: guard })
    expect(rig.seen.at(-1)?.url).toBe(`${rig.service.baseUrl}/v1/api/items/7`)
  })

  test('of 500 paths that climb, hide or lead elsewhere, none reaches another path or host', async () => {
    const hosts = new Set<string>()
    const rig = await proxyRig(() => Response.json({}))
    expect(pathVectors.length).toBeGreaterThan(500)
    let refused = 0
    for (const vector of pathVectors) {
      const before = rig.seen.length
      const request = requestTo(rig.person, vector)
      const answered = request && (await rig.backend.handle(request))
      await answered?.body?.cancel()
      if (rig.seen.length === before) {
        refused++
        expect([undefined, 400]).toContain(answered?.status)
        continue
      }
      const { origin, pathname, username } = new URL(rig.seen.at(-1)?.url ?? '')
      hosts.add(origin)
      expect(username).toBe('')
      // No part of a parameter can be read as a separator, a parent segment or an end.
      expect(pathname).toMatch(/^\/api\/items\/[^/\\;]+(\/parts\/[^/\\;]+)?$/)
      for (const part of pathname.split('/').slice(3)) {
        const text = decodeURIComponent(part)
        expect(text).not.toMatch(/^\.{1,2}$|[/\\;%?#\p{C}]/u)
        expect(encodeURIComponent(text)).toBe(part)
      }
    }
    expect([...hosts]).toEqual([rig.service.baseUrl])
    expect(refused).toBeGreaterThan(400)
    expect(rig.sent.every(({ url }) => [rig.service.authUrl, rig.service.baseUrl].includes(new URL(url).origin))).toBe(
      true,
    )
  })

  test.each([
    ['a full-width slash', '/api/items/%EF%BC%8F..%EF%BC%8Fadmin'],
    ['full-width dots', '/api/items/%EF%BC%8E%EF%BC%8E'],
    ['dots before a blank, which some servers cut off', '/api/items/..%20'],
    ['a full-width percent sign', '/api/items/%EF%BC%852e%EF%BC%852e'],
    ['a full-width question mark', '/api/items/7%EF%BC%9Fadmin=1'],
    ['account of, which holds a slash', '/api/items/%E2%84%80'],
  ])('%s is refused, because an API that normalises text would read another path', async (_, path) => {
    const rig = await proxyRig()
    expect((await rig.get(path)).status).toBe(400)
    expect(rig.seen).toEqual([])
  })

  test('a refusal names the route, never the path', async () => {
    const rig = await proxyRig()
    expect(await statusAndCode(await rig.get('/api/items/a%2eb'))).toEqual({ status: 400, code: 'origin_forbidden' })
    expect(await statusAndCode(await rig.get('/api/items/a%2Fb'))).toEqual({ status: 400, code: 'origin_forbidden' })
    expect(await statusAndCode(await rig.get('/api/items/...'))).toEqual({ status: 400, code: 'origin_forbidden' })
    expect(rig.events.at(-1)).toEqual({
      type: 'proxy_refused',
      route: 'GET /api/items/:id',
      status: 400,
      reason: 'path',
    })
  })

  test('a refusal of the API is an event of a request that was sent; that of an ended session is not', async () => {
    const rig = await proxyRig(() => new Response(null, { status: 413 }))
    expect((await rig.get('/api/items/1')).status).toBe(413)
    expect(rig.events.at(-1)).toMatchObject({ type: 'proxied', status: 413 })
    const session = await rig.backend.getSession(rig.person.request('/'))
    if (session.status !== 'signed-out') await session.signOut()
    expect(await statusAndCode(await rig.get('/api/items/1'))).toEqual({ status: 401, code: 'login_required' })
    expect(rig.events.at(-1)).toMatchObject({ type: 'proxy_refused', status: 401, reason: 'signed_out' })
  })
})

/** A request as a server gets it, with an unchanged path and another host. Undefined if no request can have such a path. */
function requestTo(browser: AppBrowser, path: string): Request | undefined {
  try {
    return new Request(`http://internal:8080${path}`, { headers: { ...guard, cookie: browser.cookieHeader() } })
  } catch {
    return undefined
  }
}

describe('redirects', () => {
  test.each([300, 301, 302, 303, 307, 308])('a %i of the API is a 502 and is not followed', async (status) => {
    const rig = await proxyRig(
      () => new Response(null, { status, headers: { location: 'https://evil.example/', 'set-cookie': 'a=1' } }),
    )
    const answered = await rig.get('/api/items/7')
    expect(await statusAndCode(answered)).toEqual({ status: 502, code: 'request_failed' })
    expect(answered.headers.get('location')).toBeNull()
    expect(rig.seen).toHaveLength(1)
  })

  test('an opaque redirect is one too; 304 is none', async () => {
    const opaque = await proxyRig(() => Object.defineProperty(Response.json({}), 'type', { value: 'opaqueredirect' }))
    expect((await opaque.get('/api/items/7')).status).toBe(502)
    // The app may pass a fetch that follows redirects.
    const followed = await proxyRig(() => Object.defineProperty(Response.json({}), 'redirected', { value: true }))
    expect((await followed.get('/api/items/7')).status).toBe(502)
    const same = await proxyRig(() => new Response(null, { status: 304, headers: { etag: '"e"' } }))
    expect((await same.get('/api/items/7')).status).toBe(304)
  })
})

describe('bodies and limits', () => {
  test('a body is sent on as it came, and again after a 401', async () => {
    const bodies: string[] = []
    const rig = await proxyRig(async (request) => {
      bodies.push(await request.text())
      return new Response(null, { status: bodies.length === 1 ? 401 : 200 })
    })
    const headers = { 'content-type': 'application/json', 'content-length': '10' }
    const answered = await rig.get('/api/items', { method: 'POST', body: '{"a":"\u00fc"}', headers })
    expect({ status: answered.status, bodies }).toEqual({ status: 200, bodies: ['{"a":"\u00fc"}', '{"a":"\u00fc"}'] })
    expect(new Set(rig.seen.map(({ headers: sent }) => sent.get('authorization'))).size).toBe(2)
    expect(rig.seen[0]?.headers.get('content-type')).toBe('application/json')
  })

  test.each([
    ['short', 2, 2],
    ['long', 100_000, 100_000],
    ['streamed', 100_000, undefined],
  ])('a %s body reaches a custom fetch that knows no Request of this platform', async (_, size, length) => {
    const rig = await proxyRig(async (request) => new Response(await request.text()))
    const { fetch: inner } = rig.options
    const foreign: typeof fetch = async (input, init) => {
      if (input instanceof Request) throw new TypeError('Failed to parse URL from [object Request]')
      return (inner ?? fetch)(input, init)
    }
    const browser = rig.browser(rig.another({ fetch: foreign }))
    browser.setCookie(...rig.person.session())
    const headers = { ...guard, ...(length && { 'content-length': `${length}` }) }
    const answered = await browser.send('/api/items', { method: 'POST', body: 'x'.repeat(size), headers })
    expect({ status: answered.status, text: await answered.text() }).toEqual({ status: 200, text: 'x'.repeat(size) })
  })

  test.each([
    ['declared', { 'content-length': '1048577' }],
    ['not declared', {}],
    ['declared smaller than it is', { 'content-length': '10' }],
  ])('a body over 1 MiB, %s: 413, and the API does not get all of it', async (_, headers) => {
    let got = 0
    const rig = await proxyRig(async (request) => {
      for await (const chunk of request.body ?? []) got += (chunk as Uint8Array).length
      return Response.json({})
    })
    const piece = new Uint8Array(65_536)
    let pieces = 0
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => (pieces++ < 40 ? controller.enqueue(piece) : controller.close()),
    })
    const init = { method: 'POST', body, headers, duplex: 'half' } as RequestInit
    const answered = await rig.get('/api/items', init)
    expect(await statusAndCode(answered)).toEqual({ status: 413, code: 'request_failed' })
    expect(got).toBeLessThanOrEqual(1_048_576)
    if (Number(new Headers(headers).get('content-length')) > 1_048_576) expect(rig.seen).toEqual([])
    expect(rig.events.at(-1)).toMatchObject({ type: 'proxy_refused', reason: 'body' })
  })

  test('more than maxParallelCalls requests of a session at once are 429, and those of another session are not', async () => {
    const waiting: ((answer: Response) => void)[] = []
    const api = (): Promise<Response> => new Promise((resolve) => waiting.push(resolve))
    const rig = await proxyRig(api, { backend: { maxParallelCalls: 3 } })
    const calls = Array.from({ length: 3 }, () => rig.get('/api/items/7'))
    await expect.poll(() => waiting.length).toBe(3)
    const refused = await rig.get('/api/items/7')
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await statusAndCode(refused)).toEqual({ status: 429, code: 'temporarily_unavailable' })
    expect(rig.events.at(-1)).toMatchObject({ type: 'proxy_refused', status: 429, reason: 'busy' })
    const other = rig.browser()
    await other.logIn()
    calls.push(other.send('/api/items/7', { headers: guard }))
    await expect.poll(() => waiting.length).toBe(4)
    for (const answer of waiting) answer(new Response(null))
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array(4).fill(200))
  })

  test('a browser that stops reading in the middle frees its place once', async () => {
    const body = (): ReadableStream<Uint8Array> => new ReadableStream({ pull: () => new Promise(() => {}) })
    const rig = await proxyRig(() => new Response(body()), { backend: { maxParallelCalls: 2 } })
    for (let at = 0; at < 4; at++) {
      const reader = (await rig.get('/api/items/stop')).body?.getReader()
      const reading = reader?.read()
      await reader?.cancel()
      await reading
    }
    const open = [await rig.get('/api/items/7'), await rig.get('/api/items/7')]
    expect((await rig.get('/api/items/7')).status).toBe(429)
    for (const { body: rest } of open) await rest?.cancel()
  })

  test.each([204, 304, 302, 401, 500])('a %i keeps no place, in any number', async (status) => {
    const rig = await proxyRig(() => new Response(null, { status }))
    for (let at = 0; at < 40; at++) expect((await rig.get('/api/items/7')).status).toBe(status === 302 ? 502 : status)
  })

  test('a browser that left before causes no request to the API', async () => {
    const rig = await proxyRig()
    expect(await statusAndCode(await rig.get('/api/items/7', { signal: AbortSignal.abort() }))).toEqual({
      status: 499,
      code: 'aborted',
    })
    expect(rig.seen).toEqual([])
    // Neither a failure of the API nor a cause: monitoring must not count browsers that left.
    expect(rig.events.at(-1)).toEqual({
      type: 'proxied',
      route: 'GET /api/items/:id',
      status: 499,
      durationMs: expect.any(Number),
    })
  })

  test('a response that cannot be passed on is a 502, and its connection is freed', async () => {
    const rig = await proxyRig(() => Object.defineProperty(new Response('x'), 'status', { value: 999 }))
    expect((await rig.get('/api/items/7')).status).toBe(502)
    expect(rig.seen[0]?.signal.aborted).toBe(true)
  })

  test('an API that does not respond within 30 s: 504, and its request is aborted', async () => {
    const rig = await proxyRig(() => new Promise(() => {}))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const call = rig.get('/api/items/7')
    await until(() => rig.seen.length === 1)
    await vi.advanceTimersByTimeAsync(29_999)
    expect(rig.seen[0]?.signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(await statusAndCode(await call)).toEqual({ status: 504, code: 'timeout' })
    expect(rig.events.at(-1)).toMatchObject({
      status: 504,
      cause: { code: 'timeout', message: `${rig.service.baseUrl} gave no response. Check that it runs, and baseUrl.` },
    })
    expect(rig.seen[0]?.signal.aborted).toBe(true)
  })

  test('a response in which the API sends nothing for 30 s ends early; one that continues does not', async () => {
    let push: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        push = controller
      },
    })
    const rig = await proxyRig(() => new Response(body))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const answered = await rig.get('/api/items/7')
    const reader = answered.body?.getReader()
    for (let at = 0; at < 3; at++) {
      const reading = reader?.read()
      await vi.advanceTimersByTimeAsync(29_000)
      push?.enqueue(new Uint8Array([at]))
      expect((await reading)?.value).toEqual(new Uint8Array([at]))
    }
    expect(rig.seen[0]?.signal.aborted).toBe(false)
    const last = reader?.read().then(
      () => 'read',
      (error: Error) => error.message,
    )
    await vi.advanceTimersByTimeAsync(30_000)
    expect(await last).toBe('The response of the API ended early.')
    expect(rig.seen[0]?.signal.aborted).toBe(true)
  })
})
