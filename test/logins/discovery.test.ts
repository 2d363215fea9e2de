import { createAuthConfig, memoryStorage, refreshTokens } from 'agent-auth'
import { createBackend } from 'agent-auth/backend'
import { type DiscoverOptions, discover } from 'agent-auth/discovery'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AppBrowser, guard } from '../support/backend-rig.ts'
import { type StandardProvider, startStandardProvider } from '../support/standard-provider.ts'
import { configWith, failure } from '../support/token-flow.ts'

let provider: StandardProvider
beforeAll(async () => {
  provider = await startStandardProvider()
})
afterAll(() => provider.close())

it('an issuer below /auth/v1, where the service has its own endpoints, gives options for a config', async () => {
  const issuer = 'https://project.example.com/auth/v1'
  const endpoints = { authorization_endpoint: `${issuer}/oauth`, token_endpoint: `${issuer}/token` }
  const { server } = await discover(issuer, { fetch: async () => Response.json({ issuer, ...endpoints }) })
  expect(configWith({ ...server }).tokenEndpoint).toBe(endpoints.token_endpoint)
})

it('a backend with the metadata of a certified provider logs in, refreshes, and revokes at the logout', async () => {
  const { server, revocationEndpoint } = await discover(provider.issuer)
  expect(server).toEqual({
    authUrl: provider.issuer,
    issuer: provider.issuer,
    issuerParameter: 'required',
    dialect: 'standard',
    authorizationEndpoint: provider.authorizationEndpoint,
    tokenEndpoint: provider.tokenEndpoint,
    endSessionEndpoint: `${provider.issuer}/session/end`,
  })
  const options = { ...server, ...provider.confidentialClient, baseUrl: provider.issuer }
  const refreshTokensSeen: string[] = []
  const revocations: unknown[] = []
  let aheadMs = 0
  const backend = createBackend({
    ...options,
    revocationEndpoint,
    redirectUri: provider.backendRedirectUri,
    sessions: memoryStorage(),
    secrets: ['a cookie secret of more than 32 letters'],
    clock: { wallMs: () => Date.now() + aheadMs, monotonicMs: () => performance.now() + aheadMs },
    async fetch(input, init) {
      const response = await fetch(input, init)
      if (String(input) !== provider.tokenEndpoint) return response
      const body = (await response.json()) as { refresh_token: string }
      refreshTokensSeen.push(body.refresh_token)
      return Response.json(body)
    },
    onEvent: (event) => event.type === 'logged_out' && revocations.push(event.revocation),
  })
  const signIn = async (url: string | URL | Request): Promise<Response> =>
    Response.redirect(await provider.completeLogin(String(url), provider.backendRedirectUri))
  const person = new AppBrowser({ fetch: signIn }, backend, provider.backendRedirectUri)
  await person.logIn('/')
  expect(await person.status()).toBe('signed-in')
  aheadMs = 61_000
  const session = await backend.getSession(person.request('/', { headers: guard }))
  if (!('fetch' in session)) throw new Error(`The session is ${session.status}.`)
  await session.fetch('/me')
  expect(new Set(refreshTokensSeen).size).toBe(2)
  await person.logOut()
  expect(revocations).toEqual(['done'])
  const refreshToken = refreshTokensSeen[1] ?? ''
  expect(await failure(refreshTokens(createAuthConfig(options), { refreshToken }))).toMatchObject({
    code: 'grant_rejected',
  })
})

describe('discover', () => {
  const issuer = 'https://login.example.com/realm'
  const metadata = { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` }
  const json = (changes: object) => async () => Response.json({ ...metadata, ...changes })

  it('needs no more than an issuer and two endpoints', async () => {
    expect(await discover(issuer, { fetch: json({}) })).toMatchObject({
      server: { issuerParameter: 'optional', tokenEndpoint: metadata.token_endpoint },
      revocationEndpoint: undefined,
    })
  })

  it.each<[string, string, DiscoverOptions['fetch']]>([
    ['another issuer', 'response_invalid', json({ issuer: 'https://login.example.com' })],
    ['an endpoint with http', 'response_invalid', json({ token_endpoint: 'http://login.example.com/token' })],
    ['a revocation endpoint with http', 'response_invalid', json({ revocation_endpoint: 'http://login.example.com' })],
    ['no token endpoint', 'response_invalid', json({ token_endpoint: undefined })],
    ['a page', 'response_invalid', async () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['a redirect', 'config_invalid', async () => Response.redirect('https://elsewhere.example')],
    ['no metadata', 'config_invalid', async () => new Response(null, { status: 404 })],
    ['a busy server', 'temporarily_unavailable', async () => new Response(null, { status: 503 })],
    ['no network', 'temporarily_unavailable', () => Promise.reject(new TypeError('fetch failed'))],
    ['too much', 'response_too_large', json({ more: 'x'.repeat(300_000) })],
    ['no response', 'timeout', () => new Promise(() => {})],
  ])('rejects %s with %s', async (_, code, fetch) => {
    expect(await failure(discover(issuer, { fetch, timeoutMs: 50 }))).toMatchObject({ code })
  })

  it.each<[string, string, DiscoverOptions, string]>([
    ['an issuer with http', 'http://login.example.com', {}, 'config_invalid'],
    ['an unknown option', issuer, { scope: 'openid' } as never, 'config_invalid'],
    ['another algorithm', issuer, { algorithm: 'rfc8414' as never }, 'config_invalid'],
    ['an aborted call', issuer, { signal: AbortSignal.abort() }, 'aborted'],
  ])('rejects %s', async (_, from, options, code) => {
    expect(await failure(discover(from, options))).toMatchObject({ code })
  })
})
