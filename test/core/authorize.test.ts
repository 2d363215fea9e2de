import { afterEach, describe, expect, it, vi } from 'vitest'
import { startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import { createAuthConfig } from '../../src/config.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { assertNoLeak, registerSecret, secret } from '../support/canary.ts'
import { testClock } from '../support/clock.ts'
import { authUrl, callbackUrl, configWith, failure, json, redirectUri, scriptedFetch } from '../support/token-flow.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

/** The random bytes of RFC 7636 appendix B. */
const appendixB = [
  116, 24, 223, 180, 151, 153, 224, 37, 79, 250, 96, 125, 216, 173, 187, 186, 22, 212, 37, 77, 105, 214, 191, 240, 91,
  88, 5, 88, 83, 132, 141, 121,
]

function stubRandom(bytes: readonly number[]): void {
  vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
    ;(array as unknown as Uint8Array).set(bytes)
    return array
  })
}

async function manyLogins(count: number, seen: (login: Awaited<ReturnType<typeof startLogin>>) => void): Promise<void> {
  const config = configWith()
  for (const login of await Promise.all(Array.from({ length: count }, () => startLogin(config)))) seen(login)
}

describe('randomness and PKCE', () => {
  it('the vector of RFC 7636 appendix B, from its random bytes to its challenge', async () => {
    stubRandom(appendixB)
    const { url, pending } = await startLogin(configWith())
    expect(pending.codeVerifier).toBe('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')
    expect(url.searchParams.get('code_challenge')).toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM')
    expect(url.searchParams.get('code_challenge_method')).toBe('S256')
  })

  const logins = 300
  it('hundreds of logins: 43 base64url characters, no duplicate, no byte shared by state and verifier', async () => {
    const verifiers = new Set<string>()
    const states = new Set<string>()
    let shared = 0
    await manyLogins(logins, ({ pending: { codeVerifier, state } }) => {
      verifiers.add(codeVerifier)
      states.add(state)
      for (let at = 0; at + 8 <= state.length; at++) if (codeVerifier.includes(state.slice(at, at + 8))) shared++
    })
    expect(verifiers.size).toBe(logins)
    expect(states.size).toBe(logins)
    expect(shared).toBe(0)
    // 22 base64url characters hold 128 bits.
    const form = (values: Set<string>, pattern: RegExp) => [...values].filter((value) => !pattern.test(value))
    expect(form(verifiers, /^[A-Za-z0-9_-]{43}$/)).toEqual([])
    expect(form(states, /^[A-Za-z0-9_-]{22,}$/)).toEqual([])
    expect(form(states, /^(?![\da-f]{8}-[\da-f]{4}-)/)).toEqual([])
  })

  it('no option selects another method', async () => {
    const options = { authUrl, baseUrl: authUrl, clientId: 'app', redirectUri }
    // @ts-expect-error there is no such option
    const unknown = await failure(() => createAuthConfig({ ...options, codeChallengeMethod: 'plain' }))
    expect(unknown).toMatchObject({ code: 'config_invalid', message: expect.stringContaining('codeChallengeMethod') })
    const config = createAuthConfig(options)
    // @ts-expect-error nor here
    const alsoUnknown = await failure(startLogin(config, { codeChallengeMethod: 'plain' }))
    expect(alsoUnknown).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('codeChallengeMethod'),
    })
    const { url } = await startLogin(config)
    expect(url.searchParams.getAll('code_challenge_method')).toEqual(['S256'])
    const refused = await failure(startLogin(config, { params: { code_challenge_method: 'plain' } }))
    expect(refused).toMatchObject({ code: 'config_invalid' })
  })

  it.each<[string, unknown]>([
    ['no crypto', undefined],
    ['no subtle', { getRandomValues: (array: Uint8Array) => array }],
    ['no digest', { getRandomValues: (array: Uint8Array) => array, subtle: {} }],
    ['no getRandomValues', { subtle: { digest: () => Promise.resolve(new ArrayBuffer(32)) } }],
  ])('%s: insecure_context, no request and no weaker randomness', async (_, replacement) => {
    const { fetch, calls } = scriptedFetch()
    const config = configWith({ fetch })
    const random = vi.spyOn(Math, 'random')
    vi.stubGlobal('crypto', replacement)
    for (const options of [{}, { state: 'a'.repeat(43) }])
      expect(await failure(startLogin(config, options))).toMatchObject({ code: 'insecure_context', retryable: false })
    expect(random).not.toHaveBeenCalled()
    expect(calls).toEqual([])
  })

  it('the verifier is in the body of one token request, in the record to keep, and nowhere else', async () => {
    const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
    const events: unknown[] = []
    const config = configWith({ fetch, onEvent: (event) => events.push(event) })
    const { url, pending } = await startLogin(config)
    registerSecret('verifier', pending.codeVerifier)
    const back = callbackUrl(pending, { code: secret('code') })
    const grant = readCallback(pending, back, { nowMs: config.clock.wallMs() })
    const tokens = await exchangeCode(config, grant)
    expect(JSON.stringify(pending)).toContain(pending.codeVerifier)
    assertNoLeak(url.href, 'authorize URL')
    for (const value of [grant, tokens, config, events]) assertNoLeak(value)
    expect(calls).toHaveLength(1)
    expect(calls[0]?.url).not.toContain(pending.codeVerifier)
    expect(JSON.stringify(calls[0]?.init.headers)).not.toContain(pending.codeVerifier)
    expect(String(calls[0]?.init.body).split(pending.codeVerifier)).toHaveLength(2)
  })
})

describe('the authorize request', () => {
  it('the exact URL for a public client', async () => {
    stubRandom(appendixB)
    const { url } = await startLogin(configWith())
    expect(url.href).toBe(
      `${authUrl}/auth/v1/authorize?response_type=code&client_id=app&redirect_uri=https%3A%2F%2Fapp.example.com%2Fcallback` +
        '&scope=api.access&state=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk' +
        '&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256',
    )
  })

  it.each([
    ['public', undefined],
    ['confidential', secret('client secret')],
  ])('state and challenge go along for a %s client, each once', async (_, clientSecret) => {
    const { url, pending } = await startLogin(configWith({ clientSecret }))
    expect(url.searchParams.getAll('state')).toEqual([pending.state])
    expect(url.searchParams.getAll('code_challenge')).toEqual([expect.stringMatching(/^[\w-]{43}$/)])
    expect(url.searchParams.getAll('code_challenge_method')).toEqual(['S256'])
    expect([...url.searchParams.keys()]).toHaveLength(7)
    assertNoLeak(url.href, 'authorize URL')
  })

  it('another scope is requested when it is configured', async () => {
    const { url } = await startLogin(configWith({ scope: 'api.access offline_access' }))
    expect(url.searchParams.getAll('scope')).toEqual(['api.access offline_access'])
  })

  const reserved = [
    'response_type',
    'response_mode',
    'client_id',
    'redirect_uri',
    'scope',
    'state',
    'code_challenge',
    'code_challenge_method',
    'request',
    'request_uri',
  ]

  it('a hostile client id, redirect path and extra parse back to what was put in, and add no parameter', async () => {
    const hostile = 'x&state=1#+ =%26?;"<~'
    const path = 'https://app.example.com/&+=%26%;\u00e9\u2603'
    const { url } = await startLogin(configWith({ clientId: hostile, redirectUri: path }), {
      params: { 'a&b=#': hostile },
    })
    expect(url.origin + url.pathname + url.hash).toBe(`${authUrl}/auth/v1/authorize`)
    for (const [name, value] of Object.entries({ client_id: hostile, redirect_uri: path, 'a&b=#': hostile }))
      expect(url.searchParams.getAll(name)).toEqual([value])
    expect([...url.searchParams]).toHaveLength(8)
  })

  it.each(reserved)('params cannot set %s', async (name) => {
    const error = await failure(startLogin(configWith(), { params: { prompt: 'login', [name]: 'x' } }))
    expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringContaining(name) })
  })

  it('other params go along, unless they are undefined', async () => {
    const { url } = await startLogin(configWith(), {
      params: { prompt: 'login', ui_locales: 'de fr', login_hint: undefined as never },
    })
    expect(url.searchParams.has('login_hint')).toBe(false)
    expect(url.searchParams.get('prompt')).toBe('login')
    expect(url.searchParams.get('ui_locales')).toBe('de fr')
  })

  it.each([
    ['too short', 'a'.repeat(21)],
    ['too long', 'a'.repeat(513)],
    ['characters that get re-encoded', `${'a'.repeat(30)}+/=`],
    ['not ASCII', `${'a'.repeat(30)}\u00e9`],
    ['a line break', `${'a'.repeat(30)}\n`],
    ['empty', ''],
  ])('a state of the caller’s own that is %s is refused', async (_, state) => {
    expect(await failure(startLogin(configWith(), { state }))).toMatchObject({ code: 'config_invalid' })
  })

  it.each([22, 512])('a good state of the caller’s own, of %i characters, is used', async (length) => {
    const state = 'v'.repeat(length)
    const { url, pending } = await startLogin(configWith(), { state })
    expect({ sent: url.searchParams.get('state'), kept: pending.state }).toEqual({ sent: state, kept: state })
  })
})

describe('the record of a login', () => {
  it('holds what the callback and the exchange need, survives JSON, and no more', async () => {
    const clock = testClock()
    const { pending } = await startLogin(configWith({ clock, issuer: authUrl }), { returnTo: '/a?b=1#c' })
    expect(JSON.parse(JSON.stringify(pending))).toEqual({
      v: 1,
      state: expect.any(String),
      codeVerifier: expect.any(String),
      clientId: 'app',
      redirectUri,
      tokenEndpoint: `${authUrl}/auth/v1/token`,
      issuer: authUrl,
      issuerParameter: 'optional',
      returnTo: '/a?b=1#c',
      createdAtMs: clock.wallMs(),
    })
    expect(Object.isFrozen(pending)).toBe(true)
  })

  it('a confidential client’s secret is not part of it', async () => {
    const { pending } = await startLogin(configWith({ clientSecret: secret('client secret') }))
    assertNoLeak(JSON.stringify(pending), 'PendingLogin')
  })

  it.each([
    ['/a/b?c=1#d', '/a/b?c=1#d'],
    ['/', '/'],
    ['', '/'],
    ['?q=1', '/?q=1'],
    ['https://app.example.com/x?y#z', '/x?y#z'],
    ['HTTPS://APP.EXAMPLE.COM:443/x', '/x'],
    ['/x?next=//e.com', '/x?next=//e.com'],
    ['//e.com', '/'],
    ['/\\e.com', '/'],
    ['\\\\e.com', '/'],
    ['/\t/e.com', '/'],
    ['\u0001//e.com', '/'],
    ['/.//e.com', '/'],
    ['/%2e%2e//e.com', '/'],
    ['https://app.example.com//e.com', '/'],
    ['javascript:alert(1)', '/'],
    ['data:text/html,x', '/'],
    ['https://e.com/x?y#z', '/'],
    ['http://app.example.com/', '/'],
    ['https://app.example.com:8443/', '/'],
    ['https://app.example.com.e.com/', '/'],
    ['https://app.example.com@e.com/', '/'],
    ['https:e.com', '/e.com'],
    ['blob:https://app.example.com//e.com', '/'],
    ['https://[', '/'],
  ])('returnTo %j becomes %j, and is not part of the state', async (returnTo, expected) => {
    const { url, pending } = await startLogin(configWith(), { returnTo })
    expect(pending.returnTo).toBe(expected)
    expect([...url.searchParams.keys()]).toHaveLength(7)
    expect(pending.state).toMatch(/^[\w-]{43}$/)
  })
})
