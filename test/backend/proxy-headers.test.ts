import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { passedToApi, passedToBrowser } from '../../src/backend/proxy/headers.ts'
import { proxyRig } from '../support/proxy-rig.ts'
import { failure } from '../support/token-flow.ts'

describe('headers', () => {
  test('the API gets one bearer header and no cookie, hop-by-hop, forwarding or origin field', async () => {
    const rig = await proxyRig()
    const dropped = {
      authorization: 'Bearer of-another-user',
      'proxy-authorization': 'Basic x',
      host: 'evil.example',
      forwarded: 'for=1.2.3.4',
      'x-forwarded-for': '1.2.3.4',
      'x-forwarded-host': 'evil.example',
      'x-real-ip': '1.2.3.4',
      'x-original-url': '/admin',
      'x-http-method-override': 'DELETE',
      x_http_method_override: 'DELETE',
      proxy: 'http://evil.example',
      via: '1.1 x',
      te: 'trailers',
      origin: 'https://app.demo.example',
      referer: 'https://app.demo.example/secret?x',
      'x-named': 'by connection',
      connection: 'close, X-Named',
    }
    const kept = Object.fromEntries(passedToApi.map((name) => [name, 'kept']))
    expect((await rig.get('/api/items/7', { headers: { ...dropped, ...kept } })).status).toBe(200)
    const { headers } = rig.seen[0] ?? new Request('http://x')
    expect(headers.get('authorization')).toMatch(/^Bearer [^,]+$/)
    expect(headers.get('authorization')).not.toContain('another-user')
    const { authorization: _, ...sent } = Object.fromEntries(headers)
    expect(sent).toEqual({ ...kept, 'accept-encoding': 'identity' })
  })

  test('no header of another name passes in either direction', async () => {
    const rig = await proxyRig((request) => {
      const name = request.headers.get('x-request-id') ?? ''
      return Response.json({}, { headers: { [name]: 'marked' } })
    })
    const token = fc.stringMatching(/^[a-z][a-z0-9_-]{0,20}$/)
    const other = token.filter((name) => !passedToApi.includes(name) && !passedToBrowser.includes(name))
    await fc.assert(
      fc.asyncProperty(other, async (name) => {
        const answered = await rig.get('/api/items/7', { headers: { [name]: 'marked', 'x-request-id': name } })
        // A response that is not read keeps its place in the queue of the session.
        await answered.text()
        const { headers } = answered
        expect(answered.status).toBe(200)
        expect(rig.seen.at(-1)?.headers.get(name)).not.toBe('marked')
        expect(headers.get(name)).not.toBe('marked')
      }),
      { numRuns: 100 },
    )
  })

  test('listed names pass in any case, and only in their direction', async () => {
    const headers = { 'x-tenant': 't', 'x-page': 'p', 'x-total-count': '7', link: '</api/items?page=2>; rel="next"' }
    const proxyHeaders = { request: ['X-Tenant'], response: ['X-Total-Count', 'link'] }
    const rig = await proxyRig(() => Response.json({}, { headers }), { backend: { proxyHeaders } })
    const answered = await rig.get('/api/items/7', { headers })
    const names = (found: Headers | undefined): string[] => Object.keys(headers).filter((name) => found?.has(name))
    expect({ request: names(rig.seen[0]?.headers), response: names(answered.headers) }).toEqual({
      request: ['x-tenant'],
      response: ['x-total-count', 'link'],
    })
    await rig.get('/api/items/7', { headers: { ...headers, connection: 'x-tenant' } })
    expect(names(rig.seen[1]?.headers)).toEqual([])
  })

  test.each([
    ['request', 'authorization'],
    ['request', 'Cookie'],
    ['request', 'x_forwarded_for'],
    ['request', 'x-http-method-override'],
    ['request', 'content-length'],
    ['request', 'x-agent-auth'],
    ['request', 'a b'],
    ['request', ''],
    ['response', 'set-cookie'],
    ['response', 'location'],
    ['response', 'access-control-allow-origin'],
    ['response', 'x-accel-redirect'],
    ['response', 'transfer-encoding'],
    ['response', 'cache-control'],
  ] as const)('of a %s the name %j cannot be listed', async (direction, name) => {
    const rig = await proxyRig()
    expect(await failure(() => rig.another({ proxyHeaders: { [direction]: [name] } }))).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(`proxyHeaders.${direction}`),
    })
  })

  test('the guide names every header that passes', () => {
    const guide = readFileSync(new URL('../../docs/backend.md', import.meta.url), 'utf8')
    const [, toApi = '', toBrowser = ''] = /\| to the API \|(.*)\|\n\| to the browser \|(.*)\|\n/.exec(guide) ?? []
    const named = (row: string): string[] => [...row.matchAll(/`([a-z-]+)`/g)].map(([, name = '']) => name).sort()
    expect(named(toApi)).toEqual([...passedToApi].sort())
    expect(named(toBrowser)).toEqual([...passedToBrowser].sort())
  })

  test('Connection cannot take the bearer header away', async () => {
    const rig = await proxyRig()
    await rig.get('/api/items/7', { headers: { connection: 'authorization, x-agent-auth' } })
    expect(rig.seen[0]?.headers.get('authorization')).toMatch(/^Bearer [^,]+$/)
  })

  test('cookies, CORS fields, password prompts and instructions to the browser do not pass', async () => {
    const rig = await proxyRig(
      () =>
        new Response('{}', {
          status: 401,
          headers: [
            ['set-cookie', '__Host-agent-auth=planted; Path=/; Secure'],
            ['set-cookie', 'b=2'],
            ['access-control-allow-origin', '*'],
            ['access-control-allow-credentials', 'true'],
            ['www-authenticate', 'Basic realm="x"'],
            ['clear-site-data', '"*"'],
            ['refresh', '0;url=//evil.example'],
            ['service-worker-allowed', '/'],
            ['strict-transport-security', 'max-age=0'],
            ['connection', 'x-hop'],
            ['x-hop', '1'],
            ['cache-control', 'public, max-age=600'],
            ['surrogate-control', 'max-age=600'],
            ['x-accel-redirect', '/internal/secrets'],
            ['nel', '{"report_to":"e","max_age":600}'],
            ['alt-svc', 'h2="evil.example:443"'],
            ['vary', 'Accept'],
            ['etag', '"e"'],
            ['content-type', 'application/json'],
          ],
        }),
    )
    const answered = await rig.get('/api/items/7')
    expect(answered.status).toBe(401)
    expect(Object.fromEntries(answered.headers)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'cross-origin-resource-policy': 'same-origin',
      etag: '"e"',
      'referrer-policy': 'no-referrer',
      vary: 'Accept, Cookie',
      'x-content-type-options': 'nosniff',
    })
    expect(await rig.person.status()).toBe('signed-in')
  })

  test('the headers that an app reads of a response arrive', async () => {
    const kept = Object.fromEntries(passedToBrowser.map((name) => [name, 'kept']))
    const rig = await proxyRig(() => Response.json({}, { headers: kept }))
    const { headers } = await rig.get('/api/items/7')
    expect(Object.fromEntries(headers)).toMatchObject({ ...kept, vary: 'kept, Cookie' })
  })

  test('a Bearer challenge is passed on', async () => {
    const challenge = 'Bearer error="insufficient_scope"'
    const rig = await proxyRig(() => new Response(null, { status: 403, headers: { 'www-authenticate': challenge } }))
    expect((await rig.get('/api/items/7')).headers.get('www-authenticate')).toBe(challenge)
  })
})
