import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client, Service } from '../../src/index.ts'
import { dialectFetch } from '../support/dialect-shim.ts'
import { agentSearch, Browser, clientOf, walk } from '../support/login.ts'
import { startService } from '../support/start.ts'

// Two libraries that know nothing of this service, over real sockets, behind the ten lines of the dialect shim.

let service: Service
let server: oauth.AuthorizationServer
beforeAll(async () => {
  service = await startService({ dev: 'on' })
  server = {
    issuer: service.authUrl,
    authorization_endpoint: `${service.authUrl}/auth/v1/authorize`,
    token_endpoint: `${service.authUrl}/auth/v1/token`,
  }
})
afterAll(() => service.close())

const redirectUri = 'https://app.demo.example/callback'
const names = ['Demo public', 'Demo confidential'] as const

/** A person with a browser of their own, over sockets. */
function visit(url: URL): Promise<URL> {
  return walk(service, url.href, { browser: new Browser(fetch) })
}

async function searchStatus(accessToken: string): Promise<number> {
  const headers = { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' }
  return (await fetch(service.baseUrl + agentSearch, { method: 'POST', headers, body: '{}' })).status
}

describe('oauth4webapi', () => {
  const options = { [oauth.allowInsecureRequests]: true, [oauth.customFetch]: dialectFetch }

  function authentication({ clientSecret }: Client): oauth.ClientAuth {
    return clientSecret === undefined ? oauth.None() : oauth.ClientSecretBasic(clientSecret)
  }

  async function codeGrant(demo: Client): Promise<oauth.TokenEndpointResponse> {
    const client: oauth.Client = { client_id: demo.clientId }
    const verifier = oauth.generateRandomCodeVerifier()
    const state = oauth.generateRandomState()
    const url = new URL(server.authorization_endpoint ?? '')
    url.search = new URLSearchParams({
      client_id: demo.clientId,
      redirect_uri: redirectUri,
      response_type: 'code',
      scope: 'api.access',
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).toString()
    const parameters = oauth.validateAuthResponse(server, client, await visit(url), state)
    const answer = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authentication(demo),
      parameters,
      redirectUri,
      verifier,
      options,
    )
    return oauth.processAuthorizationCodeResponse(server, client, answer)
  }

  test.each(names)('a whole login and two refreshes of the %s client', async (name) => {
    const demo = clientOf(service, name)
    const client: oauth.Client = { client_id: demo.clientId }
    const tokens = await codeGrant(demo)
    expect(await searchStatus(tokens.access_token)).toBe(200)
    let refreshToken = tokens.refresh_token ?? ''
    for (let turn = 0; turn < 2; turn += 1) {
      const answer = await oauth.refreshTokenGrantRequest(server, client, authentication(demo), refreshToken, options)
      const next = await oauth.processRefreshTokenResponse(server, client, answer)
      expect(next.refresh_token).not.toBe(refreshToken)
      expect(await searchStatus(next.access_token)).toBe(200)
      refreshToken = next.refresh_token ?? ''
    }
  })

  test('it understands a refusal, and that of the API', async () => {
    const demo = clientOf(service, 'Demo public')
    const client: oauth.Client = { client_id: demo.clientId }
    const answer = await oauth.refreshTokenGrantRequest(server, client, oauth.None(), 'art_unknown', options)
    await expect(oauth.processRefreshTokenResponse(server, client, answer)).rejects.toMatchObject({
      name: 'ResponseBodyError',
      error: 'invalid_grant',
      status: 400,
    })
    const call = oauth.protectedResourceRequest('x', 'POST', new URL(service.baseUrl + agentSearch), undefined, null, {
      [oauth.allowInsecureRequests]: true,
    })
    await expect(call).rejects.toMatchObject({
      status: 401,
      cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token' } }],
    })
  })
})

describe('openid-client', () => {
  function configuration({ clientId, clientSecret }: Client): openid.Configuration {
    const authentication = clientSecret === undefined ? openid.None() : openid.ClientSecretBasic(clientSecret)
    const config = new openid.Configuration(server, clientId, undefined, authentication)
    config[openid.customFetch] = (url, init) => dialectFetch(url, init as RequestInit)
    openid.allowInsecureRequests(config)
    return config
  }

  test.each(names)('a whole login and a refresh of the %s client', async (name) => {
    const config = configuration(clientOf(service, name))
    const pkceCodeVerifier = openid.randomPKCECodeVerifier()
    const expectedState = openid.randomState()
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'api.access',
      state: expectedState,
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    })
    const tokens = await openid.authorizationCodeGrant(config, await visit(url), { pkceCodeVerifier, expectedState })
    expect(await searchStatus(tokens.access_token)).toBe(200)
    expect(tokens.expiresIn()).toBeGreaterThan(500)
    const next = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(next.refresh_token).not.toBe(tokens.refresh_token)
    const answer = await openid.fetchProtectedResource(
      config,
      next.access_token,
      new URL(service.baseUrl + agentSearch),
      'POST',
      '{}',
      new Headers({ 'content-type': 'application/json' }),
    )
    expect(answer.status).toBe(200)
  })

  test('a denial arrives as access_denied', async () => {
    const config = configuration(clientOf(service, 'Demo confidential'))
    const expectedState = openid.randomState()
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: 'api.access',
      state: expectedState,
    })
    const denied = await walk(service, url.href, { browser: new Browser(fetch), decision: 'deny' })
    await expect(openid.authorizationCodeGrant(config, denied, { expectedState })).rejects.toMatchObject({
      error: 'access_denied',
    })
  })
})
