import {
  type AgentAuthErrorDetails,
  type AuthConfig,
  type AuthConfigOptions,
  createAuthConfig,
  exchangeCode,
  memoryStorage,
  pendingLogins,
  readCallback,
  refreshTokens,
  startLogin,
  type Tokens,
} from 'agent-auth'
import { createService, type Service, type ServiceOptions } from 'agent-service'
import { afterEach, describe, expect, it } from 'vitest'
import { Browser, clientOf, consentPath, personOf, signInPath } from '../../service/test/support/login.ts'
import { assertNoLeak, registerSecret } from '../support/canary.ts'
import { failure } from '../support/token-flow.ts'

// The client against the real service, in process: sign-in and consent forms included.

const redirectUri = 'https://app.demo.example/callback'

const services: Service[] = []
afterEach(async () => {
  await Promise.all(services.splice(0).map((service) => service.close()))
})

async function start(options: ServiceOptions = {}): Promise<Service> {
  const service = await createService(options)
  services.push(service)
  for (const { clientSecret } of service.clients) if (clientSecret) registerSecret('client secret', clientSecret)
  return service
}

type Kind = 'public' | 'confidential'

/** The configuration of a demo client, and every token request it makes. */
function configOf(service: Service, kind: Kind, options: Partial<AuthConfigOptions> = {}) {
  const { clientId, clientSecret } = clientOf(service, `Demo ${kind}`)
  const requests: { url: string; body: string; headers: Record<string, string> }[] = []
  const config = createAuthConfig({
    authUrl: service.authUrl,
    baseUrl: service.baseUrl,
    clientId,
    clientSecret,
    redirectUri,
    fetch: (input, init) => {
      requests.push({ url: String(input), body: String(init?.body), headers: init?.headers as Record<string, string> })
      return service.fetch(input, init)
    },
    ...options,
  })
  return { config, requests }
}

/** What a browser does between the authorize URL and the callback. */
async function visit(service: Service, url: URL, decision: 'approve' | 'deny' = 'approve'): Promise<string> {
  const { email, password } = personOf(service, 'ada')
  const browser = new Browser(service.fetch)
  const asked = await browser.get(url.href)
  const signedIn = await browser.submit(asked, signInPath, { email, password })
  const { next } = await browser.submit(signedIn, consentPath, { decision })
  if (!next) throw new Error('The service did not send the browser back.')
  return next
}

async function logIn(service: Service, config: AuthConfig): Promise<Tokens> {
  const { url, pending } = await startLogin(config)
  return exchangeCode(config, readCallback(pending, await visit(service, url)))
}

async function callApi(service: Service, { accessToken }: Tokens): Promise<number> {
  const headers = { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ limit: 1, offset: 0 })
  return (await service.fetch(`${service.baseUrl}/api/llm_models/search`, { method: 'POST', headers, body })).status
}

describe('a login at the service', () => {
  it.each(['public', 'confidential'] as const)('a %s client logs in, calls the API, refreshes', async (kind) => {
    const service = await start()
    const { config, requests } = configOf(service, kind)
    const tokens = await logIn(service, config)
    expect(tokens).toMatchObject({ accessToken: expect.any(String), refreshToken: expect.any(String) })
    expect(await callApi(service, tokens)).toBe(200)
    const renewed = await refreshTokens(config, tokens)
    expect(renewed.accessToken).not.toBe(tokens.accessToken)
    expect(renewed.refreshToken).not.toBe(tokens.refreshToken)
    expect(await callApi(service, renewed)).toBe(200)

    const [exchange, refresh] = requests
    expect(requests).toHaveLength(2)
    const fields = [...new URLSearchParams(exchange?.body).keys()].sort()
    const members = Object.keys(JSON.parse(refresh?.body ?? '')).sort()
    if (kind === 'public') {
      expect(fields).toEqual(['client_id', 'code', 'code_verifier', 'redirect_uri'])
      expect(members).toEqual(['client_id', 'refresh_token'])
      expect([exchange?.headers, refresh?.headers].some((headers) => headers && 'authorization' in headers)).toBe(false)
    } else {
      expect(fields).toEqual(['code', 'code_verifier', 'redirect_uri'])
      expect(members).toEqual(['refresh_token'])
      expect({ exchange: exchange?.headers.authorization, refresh: refresh?.headers.authorization }).toEqual({
        exchange: expect.stringMatching(/^Basic /),
        refresh: expect.stringMatching(/^Basic /),
      })
    }
  })

  it.each(['public', 'confidential'] as const)(
    'PKCE protects a %s client: another verifier is refused',
    async (kind) => {
      const service = await start()
      const { config } = configOf(service, kind)
      const { url, pending } = await startLogin(config)
      const callback = await visit(service, url)
      const other = { ...pending, codeVerifier: (await startLogin(config)).pending.codeVerifier }
      expect(await failure(exchangeCode(config, readCallback(other, callback)))).toMatchObject({
        code: 'grant_rejected',
        details: { error: 'invalid_grant' },
      })
      expect(await exchangeCode(config, readCallback(pending, callback))).toHaveProperty('accessToken')
    },
  )

  it('the person denies: login_denied with the place to go back to, and no token request', async () => {
    const service = await start()
    const { config, requests } = configOf(service, 'public')
    const { url, pending } = await startLogin(config, { returnTo: '/agents?page=2#new' })
    const callback = await visit(service, url, 'deny')
    const error = await failure(() => readCallback(pending, callback))
    const details: AgentAuthErrorDetails = { error: 'access_denied', returnTo: '/agents?page=2#new' }
    expect(error).toMatchObject({ code: 'login_denied', retryable: false, details })
    expect(requests).toEqual([])
  })

  it('a minimal token answer is enough: the life of the token is read from the JWT', async () => {
    const service = await start({ tokenResponse: 'minimal', accessTokenLifeMs: 300_000 })
    for (const kind of ['public', 'confidential'] as const) {
      const { config } = configOf(service, kind)
      const tokens = await logIn(service, config)
      expect(tokens.scope).toBeUndefined()
      // The stamps in a JWT are whole seconds.
      const lifeMs = (tokens.expiresAtMs ?? 0) - tokens.obtainedAtMs
      expect(lifeMs).toBeGreaterThanOrEqual(299_000)
      expect(lifeMs).toBeLessThanOrEqual(301_000)
      expect(await callApi(service, tokens)).toBe(200)
      expect(await callApi(service, await refreshTokens(config, tokens))).toBe(200)
    }
  })

  it('without rotation the refresh token is kept and works again', async () => {
    const service = await start({ rotation: 'none' })
    const { config } = configOf(service, 'public')
    const tokens = await logIn(service, config)
    const first = await refreshTokens(config, tokens)
    const second = await refreshTokens(config, first)
    expect({ first: first.refreshToken, second: second.refreshToken }).toEqual({
      first: tokens.refreshToken,
      second: tokens.refreshToken,
    })
    expect(await callApi(service, second)).toBe(200)
  })

  it('a callback used twice: one exchange, and the tokens of the first stay good', async () => {
    const service = await start()
    const { config, requests } = configOf(service, 'public')
    const logins = pendingLogins(memoryStorage())
    const { url, pending } = await startLogin(config)
    await logins.save(pending)
    const callback = await visit(service, url)
    const tokens = await exchangeCode(config, readCallback(await logins.take(callback), callback))
    expect(await failure(logins.take(callback))).toMatchObject({ code: 'already_handled' })
    expect(requests).toHaveLength(1)
    expect(await callApi(service, tokens)).toBe(200)
  })

  it('what the service refuses, it refuses by name: spent codes, dead refresh tokens, unknown clients', async () => {
    const service = await start({ codeLifeMs: 1_000 })
    // The code of the second login lasts however long that login takes.
    service.dev.freeze()
    const { config } = configOf(service, 'confidential')
    const { url, pending } = await startLogin(config)
    const callback = await visit(service, url)
    service.dev.advance(2_000)
    expect(await failure(exchangeCode(config, readCallback(pending, callback)))).toMatchObject({
      code: 'grant_rejected',
      details: { outcome: 'terminal', error: 'invalid_grant' },
    })
    const tokens = await logIn(service, config)
    const wrong = configOf(service, 'confidential', { clientSecret: 'not-the-secret' })
    const error = await failure(refreshTokens(wrong.config, tokens))
    expect(error).toMatchObject({
      code: 'client_rejected',
      status: 401,
      details: { outcome: 'config', error: 'invalid_client' },
    })
    assertNoLeak(error)
    await service.dev.revokeRefreshTokens()
    expect(await failure(refreshTokens(config, tokens))).toMatchObject({ code: 'grant_rejected', retryable: false })
  })
})
