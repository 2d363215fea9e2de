import { afterEach, describe, expect, it, vi } from 'vitest'
import { createAgentApi } from '../../src/api/index.ts'
import { apiFetch } from '../../src/backend/sessions/live-sessions.ts'
import { createBearerFetch } from '../../src/bearer.ts'
import { createBrowserAuth } from '../../src/browser/index.ts'
import { createAuthConfig } from '../../src/config.ts'
import type { AuthEvent } from '../../src/events.ts'
import { apiStub } from '../support/api-stub.ts'
import { failure, optionsWith } from '../support/token-flow.ts'

afterEach(() => vi.unstubAllGlobals())

const invalid = { code: 'config_invalid', retryable: false }
const allowHttpHosts = ['agent-service']
const inNetwork = {
  authUrl: 'http://agent-service:4001',
  baseUrl: 'http://agent-service:4002/prefix/',
  tokenEndpoint: 'http://agent-service:4001/auth/v1/token',
}

describe('allowHttpHosts', () => {
  it('lets service URLs and endpoints have http at these exact hosts, on any port', () => {
    expect(createAuthConfig({ ...optionsWith(), ...inNetwork, allowHttpHosts })).toMatchObject({
      ...inNetwork,
      baseUrl: 'http://agent-service:4002/prefix',
      allowHttpHosts,
    })
  })

  it.each([
    ['another host', 'http://other-service:4001'],
    ['a host that ends with it', 'http://evil.agent-service'],
    ['a host that begins with it', 'http://agent-service.evil.example'],
    ['user info', 'http://agent-service@evil.example'],
    ['user info at the host', 'http://user@agent-service:4001'],
    ['another scheme', 'ws://agent-service:4001'],
    ['a relative scheme', '//agent-service:4001'],
  ])('refuses %s', async (_, authUrl) => {
    expect(await failure(() => createAuthConfig({ ...optionsWith(), authUrl, allowHttpHosts }))).toMatchObject(invalid)
  })

  it.each([['*'], ['agent-service:4001'], ['.agent-service'], ['http://agent-service'], ['Agent-Service'], ['']])(
    'takes %j for a name that is not the host: no pattern, no port, no URL',
    async (name) => {
      const options = { ...optionsWith(), authUrl: inNetwork.authUrl, allowHttpHosts: [name] }
      expect(await failure(() => createAuthConfig(options))).toMatchObject(invalid)
    },
  )

  it('takes a text for one name, and not for a part of it', async () => {
    const asText = { baseUrl: 'http://agent', allowHttpHosts: 'agent-service' as never }
    expect(await failure(() => createBearerFetch('token', asText))).toMatchObject(invalid)
  })

  it('does not count for the redirect URI, which the browser of the user loads', async () => {
    const options = { ...optionsWith(), redirectUri: 'http://agent-service/auth/callback', allowHttpHosts }
    expect(await failure(() => createAuthConfig(options))).toMatchObject({
      ...invalid,
      message: expect.stringContaining('redirectUri'),
    })
  })

  it.each([[['document']], [['importScripts', 'location']]])('refuses these hosts where %j exist', async (names) => {
    for (const name of names) vi.stubGlobal(name, {})
    const options = { ...optionsWith(), ...inNetwork, allowHttpHosts }
    expect(await failure(() => createAuthConfig(options))).toMatchObject({
      ...invalid,
      message: expect.not.stringContaining('allowHttpHosts'),
    })
    expect(
      await failure(() => createBearerFetch('token', { baseUrl: inNetwork.baseUrl, allowHttpHosts })),
    ).toMatchObject(invalid)
  })

  it('is no option of createBrowserAuth', async () => {
    const options = { ...optionsWith(), allowHttpHosts }
    expect(await failure(() => createBrowserAuth(options))).toMatchObject({
      ...invalid,
      message: expect.stringContaining('allowHttpHosts is not an option of createBrowserAuth'),
    })
  })

  it('emits http_allowed once for a config, and never without it', async () => {
    const events: AuthEvent[] = []
    const onEvent = (event: AuthEvent) => void events.push(event)
    createAuthConfig({ ...optionsWith(), onEvent })
    createAuthConfig({ ...optionsWith(), onEvent, allowHttpHosts: [] })
    expect(events).toEqual([])
    createAuthConfig({ ...optionsWith(), ...inNetwork, onEvent, allowHttpHosts: ['agent-service', 'other'] })
    createAuthConfig({ ...optionsWith(), ...inNetwork, onEvent, allowHttpHosts: ['agent-service'] })
    expect(events).toEqual([
      { type: 'http_allowed', hosts: 'agent-service other' },
      { type: 'http_allowed', hosts: 'agent-service' },
    ])
  })

  it('copies the list: a name that is added later is not on it', async () => {
    const names = ['agent-service']
    const config = createAuthConfig({ ...optionsWith(), ...inNetwork, allowHttpHosts: names })
    names.push('evil.example')
    expect(config.allowHttpHosts).toEqual(['agent-service'])
    expect(Object.isFrozen(config.allowHttpHosts)).toBe(true)
  })
})

describe('allowHttpHosts of calls', () => {
  it('lets the bearer fetch send the token to these hosts, and to no other one over http', async () => {
    const api = apiStub(() => new Response())
    const baseUrl = 'http://agent-service:4002'
    const call = createBearerFetch('token', { baseUrl, allowHttpHosts, fetch: api.fetch })
    await call('/api/x')
    await call('http://agent-service:4003/api/x')
    await call('http://other-service:4002/api/x')
    expect(api.authorizations).toEqual(['Bearer token', null, null])
    const origins = ['http://agent-service:4002', 'https://api.example.com']
    expect(() => createBearerFetch('token', { origins, allowHttpHosts })).not.toThrow()
    for (const targets of [{ baseUrl }, { origins }])
      expect(await failure(() => createBearerFetch('token', targets))).toMatchObject(invalid)
  })

  it('lets the API client have such a base URL', async () => {
    const options = { baseUrl: 'http://agent-service:4002', fetch: async () => new Response() }
    expect(() => createAgentApi({ ...options, allowHttpHosts })).not.toThrow()
    expect(await failure(() => createAgentApi(options))).toMatchObject(invalid)
  })

  it('lets the sessions of a backend call the API there', async () => {
    const api = apiStub(() => new Response())
    const config = createAuthConfig({ ...optionsWith(), ...inNetwork, allowHttpHosts })
    const context = { config, injectedFetch: api.fetch } as Parameters<typeof apiFetch>[0]
    await apiFetch(context, { getAccessToken: async () => 'token' })('http://agent-service:4002/prefix/api/x')
    expect(api.authorizations).toEqual(['Bearer token'])
  })
})
