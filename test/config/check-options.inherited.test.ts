import { createBackend } from 'agent-auth/backend'
import { createBrowserAuth } from 'agent-auth/browser'
import { describe, expect, it } from 'vitest'
import { createAgentApi } from '../../src/api/index.ts'
import { startLogin } from '../../src/authorize.ts'
import { createBearerFetch } from '../../src/bearer.ts'
import { readCallback } from '../../src/callback.ts'
import { authOptionNames as authNames, createAuthConfig } from '../../src/config.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { pendingLogins } from '../../src/pending-logins.ts'
import { createSession } from '../../src/session.ts'
import { encryptedStorage } from '../../src/storage/encrypted-storage.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import { refreshTokens } from '../../src/token-endpoint.ts'
import {
  callbackUrl,
  configWith,
  grantFor,
  json,
  plainOptions,
  scriptedFetch,
  tokensWith,
} from '../support/token-flow.ts'

// Another script of the page or process may add members to the prototype of all objects. Options are own members alone.

const baseUrl = 'https://api.example.com'
const config = configWith()
const tokenResponse = () => scriptedFetch(json({ access_token: 'issued' }))

/** Runs a call while all objects inherit these members. */
async function inheriting<T>(members: Readonly<Record<string, unknown>>, call: () => T): Promise<Awaited<T>> {
  try {
    for (const [name, value] of Object.entries(members))
      Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true })
    return await call()
  } finally {
    for (const name of Object.keys(members)) Reflect.deleteProperty(Object.prototype, name)
  }
}

/** What a call resolves to, or the message that it fails with. */
async function outcome(call: () => unknown): Promise<unknown> {
  try {
    return await call()
  } catch (error) {
    return (error as Error).message
  }
}

const limitNames = ['timeoutMs', 'maxRetries', 'maxBytes', 'onResponse']

/** A value of a kind that no option has. */
const wrong: unknown = Symbol('inherited')

describe('an option that is only inherited from the prototype of all objects', () => {
  it.each<[string, readonly string[], () => unknown]>([
    ['createAuthConfig', authNames, () => JSON.stringify(createAuthConfig(plainOptions))],
    ['createAuthConfig without any', authNames, () => createAuthConfig({} as never)],
    ['startLogin', ['returnTo', 'params', 'state'], async () => Object.keys((await startLogin(config)).pending)],
    [
      'createSession',
      ['storage', 'key'],
      async () => {
        const session = createSession(config)
        await session.signIn(tokensWith())
        return session.state.status
      },
    ],
    ['createBearerFetch', ['baseUrl', 'origins'], () => createBearerFetch('token', {} as never)],
    ['createBearerFetch', ['origins', 'fetch', 'elsewhere'], () => typeof createBearerFetch('token', { baseUrl })],
    ['encryptedStorage', ['keys'], () => encryptedStorage(memoryStorage(), {} as never)],
    ['encryptedStorage', ['id', 'key'], () => encryptedStorage(memoryStorage(), { keys: [{}] as never })],
    ['pendingLogins', ['clock', 'emit'], () => Object.keys(pendingLogins(memoryStorage()))],
    [
      'createBrowserAuth',
      [...authNames, 'storage', 'key', 'popup', 'loginStorage', 'navigate'],
      () => Object.keys(createBrowserAuth(plainOptions)),
    ],
    [
      'createBackend',
      [...authNames, 'basePath', 'proxy', 'sameSite', 'sessionLifeMs', 'errorPath', 'revocationEndpoint'],
      () => {
        const secrets = ['a cookie secret of more than 32 letters']
        const own = { sessions: memoryStorage(), secrets, proxyHeaders: {} }
        return Object.keys(
          createBackend({ ...plainOptions, redirectUri: 'https://app.example.com/auth/callback', ...own }),
        )
      },
    ],
    ['createAgentApi', ['baseUrl', 'fetch', 'clock', ...limitNames], () => createAgentApi({} as never)],
    ['createAgentApi', ['clock', ...limitNames], () => Object.keys(createAgentApi({ baseUrl, fetch }))],
  ])('%s ignores it: %j', async (_, names, call) => {
    const expected = await outcome(call)
    for (const name of names) expect(await inheriting({ [name]: wrong }, () => outcome(call))).toEqual(expected)
  })

  it('the endpoints of a config, and its secret, are own members', async () => {
    const evil = 'https://evil.example'
    const inherited = { tokenEndpoint: evil, authorizationEndpoint: evil, clientSecret: 'secret', scope: 'all' }
    const polluted = await inheriting(inherited, () => createAuthConfig(plainOptions))
    expect(JSON.stringify(polluted)).toBe(JSON.stringify(createAuthConfig(plainOptions)))
  })

  it('startLogin sends neither an inherited state nor inherited params', async () => {
    const { url, pending } = await inheriting(
      { state: 'a'.repeat(43), params: { prompt: 'none' }, returnTo: '/x' },
      () => startLogin(config),
    )
    expect(url.searchParams.get('state')).not.toBe('a'.repeat(43))
    expect(url.searchParams.has('prompt')).toBe(false)
    expect(pending.returnTo).toBeUndefined()
  })

  it('readCallback takes the time of the platform', async () => {
    const { pending } = await startLogin(createAuthConfig(plainOptions))
    const url = callbackUrl(pending, { code: 'c' })
    const later = Date.now() + 86_400_000
    expect(await inheriting({ nowMs: later }, () => readCallback(pending, url))).toBeDefined()
  })

  it.each<[string, (fetch: typeof globalThis.fetch) => Promise<{ accessToken: string }>]>([
    [
      'exchangeCode',
      async (fetch) => {
        const own = configWith({ fetch })
        return exchangeCode(own, await grantFor(own))
      },
    ],
    ['refreshTokens', (fetch) => refreshTokens(configWith({ fetch }), tokensWith())],
  ])('%s is not aborted by an inherited signal', async (_, call) => {
    const tokens = await inheriting({ signal: AbortSignal.abort() }, () => call(tokenResponse().fetch))
    expect(tokens.accessToken).toBe('issued')
  })

  it('a session refreshes no valid token for an inherited forceRefresh', async () => {
    const { fetch, calls } = tokenResponse()
    const session = createSession(configWith({ fetch }))
    const tokens = tokensWith()
    await session.signIn(tokens)
    const inherited = { forceRefresh: true, minValidMs: 1e12, signal: AbortSignal.abort() }
    expect(await inheriting(inherited, () => session.getAccessToken())).toBe(tokens.accessToken)
    expect(calls).toEqual([])
  })

  it('a call of the API sends no inherited extraMembers, and calls no inherited onResponse', async () => {
    const { fetch, calls } = scriptedFetch(() => json({ success: true, data: { items: [], count: 0 } }))
    const api = createAgentApi({ baseUrl, fetch })
    let responses = 0
    const inherited = { extraMembers: { tenant: 'other' }, onResponse: () => responses++ }
    await inheriting(inherited, () => api.llmModels.search({ limit: 1 }))
    expect(calls.map(({ init }) => init.body)).toEqual(['{"limit":1}'])
    expect(responses).toBe(0)
  })
})

describe('null in the place of a signal', () => {
  it('counts as absent, as in fetch', async () => {
    const api = createAgentApi({
      baseUrl,
      fetch: scriptedFetch(json({ success: true, data: { items: [], count: 0 } })).fetch,
    })
    expect(await api.llmModels.search({}, { signal: null })).toMatchObject({ count: 0 })
    const own = configWith({ fetch: tokenResponse().fetch })
    expect((await refreshTokens(own, tokensWith(), { signal: null as never })).accessToken).toBe('issued')
  })
})
