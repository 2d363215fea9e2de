import { memoryStorage } from 'agent-auth'
import { describe, expect, test } from 'vitest'
import { clientOf } from '../../service/test/support/login.ts'
import { rigOf } from '../support/rig-of.ts'
import { failure } from '../support/token-flow.ts'
import { backendWith } from '../support/wrong-calls.ts'

describe('the options of a backend', () => {
  test.each([
    ['no secrets', { secrets: [] }],
    ['a short secret', { secrets: ['x'.repeat(31)] }],
    ['a missing secret', { secrets: [undefined as unknown as string] }],
    ['a secret twice', { secrets: ['x'.repeat(32), 'x'.repeat(32)] }],
    ['another callback path', { redirectUri: 'https://app.demo.example/callback' }],
    ['a base path that is none', { basePath: 'auth' }],
    ['a base path with dots', { basePath: '/..', redirectUri: 'https://app.demo.example/../callback' }],
    ['an endless life', { sessionLifeMs: Number.POSITIVE_INFINITY }],
    ['an endless idle time', { idleMs: Number.POSITIVE_INFINITY }],
    ['an error page elsewhere', { errorPath: '//evil.example' }],
    ['plain http', { redirectUri: 'http://app.demo.example/auth/callback' }],
    [
      'revocation over plain http beside allowed hosts',
      { revocationEndpoint: 'http://auth.example.com/revoke', allowHttpHosts: ['agent-service'] },
    ],
    ['revocation over plain http', { revocationEndpoint: 'http://auth.example.com/revoke' }],
    ['a route with dots', { proxy: ['GET /api/../x'] }],
    ['a route with a scheme', { proxy: ['GET https://evil.example/x'] }],
    ['a route that is encoded', { proxy: ['GET /api/%2e'] }],
    ['a route under the base path', { proxy: ['GET /auth/login'] }],
  ])('%s: config_invalid at once', async (_, changes) => {
    const rig = await rigOf()
    expect(await failure(() => rig.another(changes))).toMatchObject({ code: 'config_invalid' })
  })

  test.each([
    ['sessionLifeMs', 60_000, 34_560_000_000],
    ['idleMs', 120_000, 34_560_000_000],
  ])('%s is from %i to %i', (name, least, most) => {
    for (const value of [least, most]) expect(() => backendWith({ [name]: value })).not.toThrow()
    for (const value of [least - 1, most + 1])
      expect(() => backendWith({ [name]: value })).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })

  test.each<[string, object, string]>([
    ['proxy', { proxy: 'GET /api/x' }, 'proxy must be a list'],
    ['a route', { proxy: [{ route: 'GET /api/*' }] }, 'proxy[0] must be METHOD /path/:param'],
    ['a route', { proxy: ['GET /api/y', { route: 'GET /api/x', maxBytes: 5 }] }, 'is not an option of proxy[1]'],
    ['a route', { proxy: [{ route: 'GET /api/x', query: 'limit' }] }, 'query of proxy[0] must be a list'],
    ['a route', { proxy: [{ route: 'GET /api/x', query: [/x/] }] }, 'query of proxy[0] must be a list of names'],
    ['a route', { proxy: [{ route: 'GET /api/x', maxBodyBytes: 0 }] }, 'maxBodyBytes of proxy[0] must be from 1 byte'],
    [
      'a route',
      { proxy: [{ route: 'GET /api/x', timeoutMs: 30 }] },
      'timeoutMs of proxy[0] must be from 100 to 600000',
    ],
    ['a route', { proxy: [{ route: 'GET /api/x', timeoutMs: Number.NaN }] }, 'timeoutMs of proxy[0]'],
    ['proxy', { proxy: ['GET /api/x', 'get /api/y'] }, 'proxy[1] must be METHOD /path/:param'],
    ['proxy', { proxy: ['GET /api/x', 'POST /api/x/{id}'] }, 'such as GET /api/agents/:id'],
    ['proxyHeaders', { proxyHeaders: ['x-tenant-id'] }, 'proxyHeaders needs an object'],
    ['proxyHeaders', { proxyHeaders: { requests: ['x-a'] } }, 'requests is not an option of proxyHeaders'],
    ['proxyHeaders', { proxyHeaders: { request: 'x-a' } }, 'proxyHeaders.request must be a list'],
    ['secrets', { secrets: 'x'.repeat(64) }, 'secrets must be a list'],
    ['sessions', { sessions: new Map() }, 'sessions must be an object with getItem, setItem, removeItem.'],
    [
      'sessions',
      { sessions: { ...memoryStorage(), [Symbol.toStringTag]: 'Storage' } },
      'sessions must not be localStorage',
    ],
    ['basePath', { basePath: 7 }, 'basePath must be a plain path'],
    ['sameSite', { sameSite: 'none' }, 'sameSite must be strict or lax'],
    ['maxParallelCalls', { maxParallelCalls: 0 }, 'maxParallelCalls must be from 1'],
    ['sessionLifeMs', { sessionLifeMs: '3600000' }, 'sessionLifeMs must be from a minute'],
    ['idleMs', { idleMs: '600000' }, 'idleMs must be from two minutes'],
    ['errorPath', { errorPath: true }, 'errorPath must be a path'],
    ['a misspelt option', { secret: ['x'.repeat(32)] }, 'secret is not an option of createBackend'],
  ])('%s %o: config_invalid names the option and what it must be', async (_, changes, message) => {
    const rig = await rigOf()
    expect(await failure(() => rig.another(changes))).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(message),
    })
  })
})

describe('a client id of the other kind', () => {
  test('the id of a public client with a secret: the page says once to check or remove it', async () => {
    const rig = await rigOf()
    const { clientId } = clientOf(rig.service, 'Demo public')
    const failed = await rig.browser(rig.another({ clientId })).logIn()
    expect(failed.status).toBe(502)
    const page = await failed.text()
    expect(page).toMatch(/check clientId, clientSecret and basicEncoding\..*client_rejected/)
    expect(page.match(/clientSecret/g)).toHaveLength(1)
    expect(rig.events.at(-1)).toEqual({
      type: 'login_failed',
      code: 'client_rejected',
      error: 'invalid_client',
      durationMs: expect.any(Number),
    })
  })

  test('another refusal does not mention secrets, and its code is in the event', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    const { pathname, searchParams } = await browser.goToCallback()
    const denied = await browser.send(`${pathname}?error=access_denied&state=${searchParams.get('state')}`)
    expect(await denied.text()).not.toContain('clientSecret')
    expect(rig.events.at(-1)).toEqual({
      type: 'login_failed',
      code: 'login_denied',
      error: 'access_denied',
      durationMs: expect.any(Number),
    })
    const other = await browser.goToCallback()
    await browser.send(`${pathname}?error=Zq%20line%0Atwo&state=${other.searchParams.get('state')}`)
    expect(rig.events.at(-1)).toEqual({ type: 'login_failed', code: 'login_failed', durationMs: expect.any(Number) })
  })
})
