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
      'x-forwarded-anything': 'x',
      'x-real-ip': '1.2.3.4',
      'x-original-url': '/admin',
      'x-rewrite-url': '/admin',
      'x-http-method-override': 'DELETE',
      'x-method-override': 'DELETE',
      x_http_method_override: 'DELETE',
      x_forwarded_for: '1.2.3.4',
      proxy: 'http://evil.example',
      'x-client-ip': '1.2.3.4',
      via: '1.1 x',
      te: 'trailers',
      trailer: 'x-later',
      'keep-alive': 'timeout=9',
      'proxy-connection': 'keep-alive',
      origin: 'https://app.demo.example',
      referer: 'https://app.demo.example/secret?x',
      'access-control-request-method': 'PUT',
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

  const identities = `x-ms-client-principal x-ms-client-principal-name x-amzn-oidc-identity x-amzn-oidc-data remote-user
    x-goog-authenticated-user-email x-goog-iap-jwt-assertion cf-access-jwt-assertion x-auth-request-user x-remote-user
    x-webauth-user tailscale-user-login ssl-client-verify x-ssl-client-s-dn x-arr-clientcert x-envoy-original-path
    x-envoy-external-address x-azure-clientip x-appengine-user-ip fastly-client-ip true-client-ip x-cluster-client-ip
    x-host x-original-host x-url-scheme front-end-https x-scheme x-originating-ip x-remote-addr x-tenant-id
    x-custom-ip-authorization x-wap-profile x-middleware-subrequest baggage x-agent-auth-2`.split(/\s+/)

  test('a page cannot send the headers by which a proxy in front of the API describes identity and route', async () => {
    const rig = await proxyRig()
    await rig.get('/api/items/7', { headers: Object.fromEntries(identities.map((name) => [name, 'admin'])) })
    expect([...(rig.seen[0]?.headers ?? [])].filter(([, value]) => value === 'admin')).toEqual([])
  })

  const orders = `link x-litespeed-location x-lighttpd-send-file x-sendfile2 x-reproxy-url speculation-rules sourcemap
    secure-session-registration attribution-reporting-register-source critical-ch x-litespeed-cache-control origin-trial
    document-policy permissions-policy content-security-policy timing-allow-origin use-as-dictionary
    activate-storage-access public-key-pins x-powered-by server date x-middleware-rewrite`.split(/\s+/)

  test('the API cannot send headers that act on the page, on a server before the app or on a cache', async () => {
    const rig = await proxyRig(() =>
      Response.json({}, { headers: Object.fromEntries(orders.map((name) => [name, 'evil'])) }),
    )
    const { headers } = await rig.get('/api/items/7')
    expect([...headers].filter(([, value]) => value.includes('evil'))).toEqual([])
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
    ['request', 'x-forwarded-for'],
    ['request', 'x_forwarded_for'],
    ['request', 'content-length'],
    ['request', 'accept-encoding'],
    ['request', 'x-agent-auth'],
    ['request', 'x-http-method-override'],
    ['request', 'a b'],
    ['request', ''],
    ['response', 'set-cookie'],
    ['response', 'location'],
    ['response', 'access-control-allow-origin'],
    ['response', 'x-accel-redirect'],
    ['response', 'transfer-encoding'],
    ['response', 'content-encoding'],
    ['response', 'cache-control'],
    ['response', 'x-content-type-options'],
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
            ['server-timing', 'db;dur=53'],
            ['strict-transport-security', 'max-age=0'],
            ['connection', 'x-hop'],
            ['x-hop', '1'],
            ['keep-alive', 'timeout=5'],
            ['cache-control', 'public, max-age=600'],
            ['cdn-cache-control', 'public, max-age=600'],
            ['some-cdn-cache-control', 'max-age=600'],
            ['surrogate-control', 'max-age=600'],
            ['edge-control', 'cache-maxage=600'],
            ['expires', 'Fri, 01 Jan 2100 00:00:00 GMT'],
            ['age', '7'],
            ['x-accel-expires', '600'],
            ['x-accel-redirect', '/internal/secrets'],
            ['x-sendfile', '/etc/passwd'],
            ['nel', '{"report_to":"e","max_age":600}'],
            ['report-to', '{"group":"e","max_age":600,"endpoints":[{"url":"https://evil.example/"}]}'],
            ['reporting-endpoints', 'default="https://evil.example/"'],
            ['alt-svc', 'h2="evil.example:443"'],
            ['set-login', 'logged-out'],
            ['accept-ch', 'Sec-CH-UA-Model'],
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
