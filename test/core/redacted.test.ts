import { inspect } from 'node:util'
import {
  AgentAuthError,
  type AuthEvent,
  createAuthConfig,
  createBearerFetch,
  createSession,
  encryptedStorage,
  exchangeCode,
  isAgentAuthError,
  memoryStorage,
  pendingLogins,
  readCallback,
  refreshTokens,
  startLogin,
} from 'agent-auth'
import { createAgentApi } from 'agent-auth/api'
import { createBackend } from 'agent-auth/backend'
import { createBrowserAuth, popupLogin } from 'agent-auth/browser'
import { describe, expect, it } from 'vitest'
import { loginFinisher } from '../../src/browser/finish-login.ts'
import { assertNoLeak, leaks, registerSecret, secret } from '../support/canary.ts'
import { testClock } from '../support/clock.ts'
import { renderings } from '../support/renderings.ts'
import {
  callbackUrl,
  configWith,
  failure,
  json,
  optionsWith,
  redirectUri,
  scriptedFetch,
} from '../support/token-flow.ts'

/** A whole login and refresh in which every secret is marked, and all that it leaves behind. */
async function everything() {
  const events: AuthEvent[] = []
  const clientSecret = secret('client secret')
  const body = (turn: string) => ({
    access_token: secret(`access token ${turn}`),
    refresh_token: secret(`refresh token ${turn}`),
    expires_in: 60,
  })
  const { fetch } = scriptedFetch(json(body('of the exchange')), json(body('of the refresh')))
  const storage = memoryStorage()
  const config = configWith({ fetch, clientSecret, onEvent: (event) => events.push(event) })
  const { clock } = config
  const logins = pendingLogins(storage, { clock })
  const { pending } = await startLogin(config, { returnTo: '/' })
  registerSecret('verifier', pending.codeVerifier)
  registerSecret('state', pending.state)
  await logins.save(pending)
  const url = callbackUrl(pending, { code: secret('code') })
  const taken = await logins.take(url)
  const grant = readCallback(taken, url, { nowMs: clock.wallMs() })
  const tokens = await exchangeCode(config, grant)
  const refreshed = await refreshTokens(config, tokens)
  const session = createSession(config, { storage })
  await session.signIn(refreshed)
  return { config, pending, taken, grant, tokens, refreshed, events, storage, logins, session }
}

/** Every way Node prints a value, bare and deep inside others; JSON and clones are those of the caller who asks for them. */
function printed(value: unknown): string[] {
  const deep = { a: [new Map([['k', new Set([{ value }])]])], error: Object.assign(new Error('x'), { value }) }
  const options = { depth: Infinity, showHidden: true, getters: true, compact: false } as const
  return [value, deep, [value]].flatMap((shape) => [
    inspect(shape, options),
    inspect(shape),
    inspect(shape, { depth: 0 }),
    inspect(shape, { ...options, showProxy: true, sorted: true, maxArrayLength: null, maxStringLength: null }),
    `${String(shape)}`,
    `${shape}`,
  ])
}

describe('printing', () => {
  it('config, pending login, grant, tokens, storage and session print without a secret', async () => {
    const { events, ...values } = await everything()
    for (const [name, value] of Object.entries(values)) {
      // A map in memory is what a memory storage is: it keeps its items out of sight.
      for (const text of printed(value)) assertNoLeak(text, name)
    }
    for (const text of printed(events)) assertNoLeak(text, 'events')
  })

  it('config, grant, events and session hold no secret in any rendering, JSON and clones included', async () => {
    const { config, grant, events, session } = await everything()
    for (const value of [config, grant, events, session, session.state]) {
      expect(renderings(value).length).toBeGreaterThan(2)
      assertNoLeak(value)
    }
  })

  it('what the other entries make for a signed-in user holds no secret in any rendering', async () => {
    const { config, storage, session, tokens } = await everything()
    const key = crypto.getRandomValues(new Uint8Array(32))
    registerSecret('encryption key', Buffer.from(key).toString('base64url'))
    const encrypted = encryptedStorage(storage, { keys: [{ id: 'first', key }] })
    const cookieSecret = secret('cookie secret, at least 32 characters')
    const clientSecret = secret('client secret of the backend')
    const { fetch } = scriptedFetch()
    const { onEvent: _, ...base } = optionsWith({ fetch, clientSecret })
    const options = { ...base, redirectUri: 'https://app.example.com/auth/callback' }
    const backend = createBackend({ ...options, sessions: encrypted, secrets: [cookieSecret] })
    const jobs = createSession(createAuthConfig(options), { storage: encrypted, key: 'job' })
    await jobs.signIn(tokens)
    const found = await backend.getSession({ key: 'job' })
    expect(found.status).toBe('signed-in')
    const user = createBearerFetch(secret('user session token'), { baseUrl: config.baseUrl })
    const api = createAgentApi({
      baseUrl: config.baseUrl,
      fetch: createBearerFetch(session, { baseUrl: config.baseUrl }),
    })
    const auth = createBrowserAuth({ ...optionsWith({ fetch }), popup: popupLogin() })
    await auth.session.signIn(tokens)
    const { redirectUri } = config
    const login = loginFinisher({ redirectUri, name: 'a', session, navigate() {}, async signIn() {} })
    for (const [name, value] of Object.entries({ encrypted, backend, jobs, found, user, api, auth, login }))
      assertNoLeak(value, name)
    auth.close()
  })

  it('tokens and pending logins are plain: JSON and code read them, and they cannot be changed', async () => {
    const { tokens, pending } = await everything()
    expect(leaks(JSON.stringify(tokens))).not.toEqual([])
    expect(leaks(JSON.stringify(pending))).not.toEqual([])
    expect(Object.keys(tokens).sort()).toEqual(['accessToken', 'expiresAtMs', 'obtainedAtMs', 'refreshToken'])
    expect(JSON.parse(JSON.stringify(tokens))).toEqual({ ...tokens })
    expect(Object.isFrozen(tokens) && Object.isFrozen(pending)).toBe(true)
  })
})

describe('errors', () => {
  it('no failure of any stage carries what it was about', async () => {
    const code = secret('code')
    const clientSecret = secret('client secret')
    const token = secret('token')
    const quoting = Object.assign(new TypeError(`Invalid value "Bearer ${token}"`), {
      input: code,
      cause: new SyntaxError(token),
    })
    const { fetch } = scriptedFetch(quoting)
    const config = configWith({ fetch, clientSecret })
    const { clock } = config
    const { pending } = await startLogin(config)
    registerSecret('verifier', pending.codeVerifier)
    const nowMs = clock.wallMs()
    const url = callbackUrl(pending, { code })
    const storage = {
      getItem: () => Promise.reject(quoting),
      setItem: () => Promise.reject(quoting),
      removeItem: () => Promise.reject(quoting),
    }
    const thrown = [
      await failure(() => configWith({ authUrl: `https://u:${token}@auth.example.com`, clientSecret })),
      await failure(() => configWith({ redirectUri: `https://[${token}`, clientSecret })),
      await failure(() => configWith({ clientSecret, scope: `"${token}` })),
      await failure(startLogin(config, { params: { state: token } })),
      await failure(startLogin(config, { state: `${token} ${token}` })),
      await failure(() => readCallback(pending, `https://[${code}`, { nowMs })),
      await failure(() => readCallback(pending, `https://u:${token}@x y/?code=${code}`, { nowMs })),
      await failure(() => readCallback(pending, `${url}&code=${code}`, { nowMs })),
      await failure(() => readCallback(pending, `${url}x`, { nowMs })),
      await failure(() => readCallback(pending, `${redirectUri}#code=${code}&access_token=${token}`, { nowMs })),
      await failure(() => readCallback({ ...pending, redirectUri: `https://[${token}` }, url, { nowMs })),
      await failure(() => readCallback(pending, url, { nowMs: nowMs + 700_000 })),
      await failure(exchangeCode(config, readCallback(pending, url, { nowMs }))),
      await failure(refreshTokens(config, { accessToken: token, refreshToken: token, obtainedAtMs: 0 })),
      await failure(pendingLogins(storage).save(pending)),
      await failure(pendingLogins(storage).take(url)),
      await failure(pendingLogins(memoryStorage()).take(`https://[${code}`)),
    ]
    for (const error of thrown) {
      expect(error.cause, error.message).toBeUndefined()
      assertNoLeak(error, error.message.slice(0, 40))
      for (const text of printed(error)) assertNoLeak(text, error.code)
    }
  })

  it('what an error shows: code, message, retryable, and the few members of its details', () => {
    const error = new AgentAuthError('grant_rejected', 'No.', {
      status: 400,
      details: { outcome: 'terminal', error: 'invalid_grant' },
    })
    expect({ ...error }).toEqual({
      code: 'grant_rejected',
      retryable: false,
      status: 400,
      details: { outcome: 'terminal', error: 'invalid_grant' },
    })
    expect(String(error)).toBe('AgentAuthError: No.')
  })

  it('isAgentAuthError knows its own, and nothing else', () => {
    expect(isAgentAuthError(new AgentAuthError('timeout', 'x'))).toBe(true)
    // Another version of the library sets this brand.
    expect(isAgentAuthError({ [Symbol.for('agent-auth.error')]: true })).toBe(true)
    for (const value of [undefined, null, 'timeout', 7, {}, { code: 'timeout' }, new Error('x'), [], () => {}])
      expect(isAgentAuthError(value)).toBe(false)
  })
})

describe('events', () => {
  it('an event of a token request that fails holds nothing that the server put into its answer', async () => {
    const echo = secret('echo')
    const answers = [
      json({ error: 'invalid_grant', error_description: echo, [echo]: echo }, { status: 400 }),
      json({ error: echo }, { status: 401 }),
      json(echo),
      new Response(echo, { status: 502, headers: { 'content-type': `text/${echo}`, 'retry-after': echo } }),
      new TypeError(echo),
    ]
    const events: AuthEvent[] = []
    const { fetch } = scriptedFetch(...answers)
    const config = configWith({
      fetch,
      tokenEndpoint: 'https://auth.example.com/tenant/token',
      onEvent: (event) => events.push(event),
    })
    for (const _ of answers)
      await failure(refreshTokens(config, { accessToken: secret('a'), refreshToken: secret('r'), obtainedAtMs: 0 }))
    expect(events).toHaveLength(answers.length)
    for (const event of events) {
      const allowed = ['type', 'grant', 'outcome', 'status', 'durationMs', 'origin']
      expect(Object.keys(event).filter((name) => !allowed.includes(name))).toEqual([])
      expect(event).toMatchObject({ origin: 'https://auth.example.com' })
    }
    assertNoLeak(events)
  })

  it('the duration is that of the monotonic clock, also when the wall clock is set', async () => {
    const clock = testClock()
    const events: AuthEvent[] = []
    const { fetch } = scriptedFetch(() => {
      clock.advance(1_234)
      clock.jumpWall(-86_400_000)
      return json({ access_token: 'x' })
    })
    const config = configWith({ fetch, clock, onEvent: (event) => events.push(event) })
    await refreshTokens(config, { accessToken: 'old', refreshToken: 'r', obtainedAtMs: 0 })
    expect(events).toMatchObject([{ durationMs: 1_234 }])
  })
})
