import {
  type AuthConfigOptions,
  type AuthEvent,
  createAuthConfig,
  exchangeCode,
  readCallback,
  refreshTokens,
  startLogin,
} from 'agent-auth'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { registerSecret } from '../support/canary.ts'
import { type StandardProvider, startStandardProvider } from '../support/standard-provider.ts'
import { failure } from '../support/token-flow.ts'

// The same client against somebody else's server, which speaks RFC 6749 and not the service's dialect.

let provider: StandardProvider
beforeAll(async () => {
  provider = await startStandardProvider()
  registerSecret('client secret', provider.confidentialClient.clientSecret)
})
afterAll(() => provider.close())

const kinds = ['public', 'confidential'] as const

function configOf(kind: (typeof kinds)[number], options: Partial<AuthConfigOptions> = {}) {
  const { clientId, redirectUri, clientSecret } =
    kind === 'public' ? { ...provider.publicClient, clientSecret: undefined } : provider.confidentialClient
  const events: AuthEvent[] = []
  const requests: { url: string; headers: Headers; fields: [string, string][] }[] = []
  const config = createAuthConfig({
    authUrl: provider.issuer,
    baseUrl: provider.issuer,
    authorizationEndpoint: provider.authorizationEndpoint,
    tokenEndpoint: provider.tokenEndpoint,
    issuer: provider.issuer,
    issuerParameter: 'required',
    clientId,
    clientSecret,
    redirectUri,
    dialect: 'standard',
    fetch(input, init) {
      const fields = [...new URLSearchParams(String(init?.body))]
      requests.push({ url: String(input), headers: new Headers(init?.headers), fields })
      return fetch(input, init)
    },
    onEvent: (event) => events.push(event),
    ...options,
  })
  return { config, events, requests }
}

async function logIn(kind: (typeof kinds)[number]) {
  const { config, events, requests } = configOf(kind)
  const { url, pending } = await startLogin(config)
  const callback = await provider.completeLogin(url)
  const tokens = await exchangeCode(config, readCallback(pending, callback))
  return { config, events, requests, callback, tokens }
}

describe('dialect standard', () => {
  it.each(kinds)('a %s client logs in and refreshes at a certified provider', async (kind) => {
    const { config, tokens, requests, events, callback } = await logIn(kind)
    expect(new URL(callback).searchParams.get('iss')).toBe(provider.issuer)
    expect(tokens).toMatchObject({
      accessToken: expect.any(String),
      refreshToken: expect.any(String),
      scope: 'api.access',
    })
    expect((tokens.expiresAtMs ?? 0) - tokens.obtainedAtMs).toBe(60_000)

    const first = await refreshTokens(config, tokens)
    const second = await refreshTokens(config, first)
    const all = [tokens, first, second]
    expect(new Set(all.map(({ accessToken }) => accessToken)).size).toBe(3)
    expect(new Set(all.map(({ refreshToken }) => refreshToken)).size).toBe(3)
    expect(
      events.map((event) => event.type === 'token_request' && { grant: event.grant, outcome: event.outcome }),
    ).toEqual([
      { grant: 'authorization_code', outcome: 'ok' },
      { grant: 'refresh_token', outcome: 'ok' },
      { grant: 'refresh_token', outcome: 'ok' },
    ])

    const own = kind === 'public' ? ['client_id'] : []
    expect(requests.map(({ url }) => url)).toEqual(Array(3).fill(provider.tokenEndpoint))
    for (const { headers } of requests) {
      expect(headers.get('content-type')).toBe('application/x-www-form-urlencoded')
      expect(headers.has('authorization')).toBe(kind === 'confidential')
    }
    const names = requests.map(({ fields }) => fields.map(([name]) => name).sort())
    expect(names).toEqual([
      [...own, 'code', 'code_verifier', 'grant_type', 'redirect_uri'],
      [...own, 'grant_type', 'refresh_token'].sort(),
      [...own, 'grant_type', 'refresh_token'].sort(),
    ])
    const grants = requests.map(({ fields }) => Object.fromEntries(fields).grant_type)
    expect(grants).toEqual(['authorization_code', 'refresh_token', 'refresh_token'])
  })

  it.each(kinds)('the provider checks PKCE of a %s client: another verifier is refused', async (kind) => {
    const { config } = configOf(kind)
    const { url, pending } = await startLogin(config)
    const callback = await provider.completeLogin(url)
    const other = { ...pending, codeVerifier: (await startLogin(config)).pending.codeVerifier }
    expect(await failure(exchangeCode(config, readCallback(other, callback)))).toMatchObject({
      code: 'grant_rejected',
      status: 400,
      details: { outcome: 'terminal', error: 'invalid_grant' },
    })
  })

  it('a rotated refresh token that is used again is refused', async () => {
    const { config, tokens } = await logIn('public')
    await refreshTokens(config, tokens)
    expect(await failure(refreshTokens(config, tokens))).toMatchObject({ code: 'grant_rejected', retryable: false })
  })

  it('a wrong client secret is a matter of the client: the tokens are kept', async () => {
    const { config, tokens } = await logIn('confidential')
    const wrong = configOf('confidential', { clientSecret: 'not-the-secret' })
    expect(await failure(refreshTokens(wrong.config, tokens))).toMatchObject({
      code: 'client_rejected',
      status: 401,
      details: { outcome: 'config', error: 'invalid_client' },
    })
    expect(await refreshTokens(config, tokens)).toHaveProperty('accessToken')
  })

  it('the provider’s iss is checked against the configured issuer', async () => {
    const { config } = configOf('public', { issuer: `${provider.issuer}/other` })
    const { url, pending } = await startLogin(config)
    const callback = await provider.completeLogin(url)
    expect(await failure(() => readCallback(pending, callback))).toMatchObject({ code: 'issuer_mismatch' })
  })

  it('what the provider refuses at the authorize endpoint comes back typed', async () => {
    const { config } = configOf('public')
    const { url, pending } = await startLogin(config, { params: { prompt: 'none' } })
    const callback = await provider.completeLogin(url)
    expect(await failure(() => readCallback(pending, callback))).toMatchObject({
      code: 'login_failed',
      details: { error: 'login_required', errorDescription: expect.any(String) },
    })
  })
})
