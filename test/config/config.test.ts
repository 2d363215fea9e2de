import { afterEach, describe, expect, it, vi } from 'vitest'
import { startLogin } from '../../src/authorize.ts'
import { type AuthConfigOptions, createAuthConfig } from '../../src/config.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { secret } from '../support/canary.ts'
import { authUrl, configWith, failure, grantFor, json, optionsWith, scriptedFetch } from '../support/token-flow.ts'

afterEach(() => vi.unstubAllGlobals())

const invalid = { code: 'config_invalid', retryable: false }

/** Each URL as `authUrl`, `baseUrl` and `redirectUri`: whether it is accepted. */
const urls: [url: string, asService: boolean, asRedirect: boolean][] = [
  ['https://auth.example.com', true, true],
  ['https://auth.example.com:8443', true, true],
  ['https://auth.example.com/tenant/a', true, true],
  ['HTTPS://AUTH.EXAMPLE.COM/Mixed', true, true],
  ['https://b\u00fccher.example', true, true],
  ['https://[2001:db8::1]:8443/x', true, true],
  ['https://auth.example.com/@handle', true, true],
  ['http://127.0.0.1', true, true],
  ['http://127.0.0.1:8080/x', true, true],
  ['http://[::1]:8080', true, true],
  ['http://localhost:3000', true, true],
  ['https://auth.example.com/cb?from=app', false, true],
  ['https://auth.example.com/cb?to=a@b', false, true],
  ['https://auth.example.com?', false, true],
  ['https://auth.example.com/#fragment', false, false],
  ['https://auth.example.com/?a=1#b', false, false],
  ['https://user@auth.example.com', false, false],
  ['https://user:pass@auth.example.com', false, false],
  ['https://:@auth.example.com/', false, false],
  ['http://auth.example.com', false, false],
  ['http://10.0.0.1', false, false],
  ['http://localhost.example.com', false, false],
  ['http://127.0.0.1.example.com', false, false],
  ['http://127.0.0.2', false, false],
  ['http://[::ffff:7f00:1]', false, false],
  ['ws://auth.example.com', false, false],
  ['javascript:alert(1)', false, false],
  ['blob:https://auth.example.com/1', false, false],
  ['//auth.example.com', false, false],
  ['auth.example.com', false, false],
  ['https:auth.example.com', false, false],
  ['https://', false, false],
  ['https:\\\\auth.example.com', false, false],
  ['https://auth.example.com\\@evil.example', false, false],
  ['https://auth.example.com:99999', false, false],
  ['https://auth exam.ple', false, false],
  [' https://auth.example.com', false, false],
  ['https://auth.example.com\n', false, false],
  ['https://auth.exa\tmple.com', false, false],
  ['https://auth.example.com/\u0001', false, false],
  ['https://a%00b.example', false, false],
  ['', false, false],
]

describe('service and redirect URLs', () => {
  it.each(urls)('%j: as authUrl, baseUrl or endpoint %s, as redirectUri %s', async (url, asService, asRedirect) => {
    for (const [name, accepted] of [
      ['authUrl', asService],
      ['baseUrl', asService],
      ['authorizationEndpoint', asService],
      ['tokenEndpoint', asService],
      ['redirectUri', asRedirect],
    ] as const) {
      const create = () => createAuthConfig({ ...optionsWith(), [name]: url })
      if (accepted) expect(create(), name).toHaveProperty('clientId', 'app')
      else expect(await failure(create), name).toMatchObject({ ...invalid, message: expect.stringContaining(name) })
    }
  })

  it.each([undefined, null, 7, {}, new URL(authUrl)])('%j is no URL text', async (value) => {
    for (const name of ['authUrl', 'baseUrl', 'redirectUri']) {
      const options = { ...optionsWith(), [name]: value } as AuthConfigOptions
      expect(await failure(() => createAuthConfig(options))).toMatchObject(invalid)
    }
  })

  it.each([
    ['https://auth.example.com', 'https://auth.example.com'],
    ['https://auth.example.com/', 'https://auth.example.com'],
    ['https://auth.example.com//', 'https://auth.example.com'],
    ['https://auth.example.com/tenant/a', 'https://auth.example.com/tenant/a'],
    ['https://auth.example.com/Tenant/a/', 'https://auth.example.com/Tenant/a'],
    ['https://auth.example.com/%7etenant', 'https://auth.example.com/%7etenant'],
  ])('the path prefix of %s is kept and no slash is doubled', async (url, prefix) => {
    const config = configWith({ authUrl: url, baseUrl: url })
    expect(config).toMatchObject({
      authUrl: prefix,
      baseUrl: prefix,
      authorizationEndpoint: `${prefix}/auth/v1/authorize`,
      tokenEndpoint: `${prefix}/auth/v1/token`,
    })
    const login = await startLogin(config)
    expect(login.url.href.split('?')[0]).toBe(`${prefix}/auth/v1/authorize`)
    expect(login.pending.tokenEndpoint).toBe(`${prefix}/auth/v1/token`)
  })

  it('a refused URL is not quoted, with any secret in it', async () => {
    const password = secret('password in a URL')
    for (const url of [`https://me:${password}@auth.example.com`, `https://auth.example.com:${password}`])
      for (const name of ['authUrl', 'baseUrl', 'redirectUri'])
        expect(await failure(() => createAuthConfig({ ...optionsWith(), [name]: url }))).toMatchObject(invalid)
  })

  it.each([
    'http://127.0.0.1:8080',
    'https://app.example.com/CallBack',
    'https://app.example.com/%7ecb',
    'https://app.example.com:443/cb',
    'https://APP.example.com/a/../cb',
    'https://app.example.com/cb?a=b%20c+d',
  ])('%s goes out byte for byte in both requests', async (redirect) => {
    const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
    const config = configWith({ redirectUri: redirect, fetch })
    expect(config.redirectUri).toBe(redirect)
    const { url, pending } = await startLogin(config)
    expect(url.href).toContain(`redirect_uri=${new URLSearchParams({ '': redirect }).toString().slice(1)}`)
    expect(pending.redirectUri).toBe(redirect)
    await exchangeCode(config, await grantFor(config))
    expect(new URLSearchParams(String(calls[0]?.init.body)).get('redirect_uri')).toBe(redirect)
  })
})

describe('other options', () => {
  it.each<[string, unknown]>([
    ['clientId', ''],
    ['clientId', 'a\r\nb'],
    ['clientId', 'caf\u00e9'],
    ['scope', ''],
    ['scope', ' api.access'],
    ['scope', 'api.access  more'],
    ['scope', 'a"b'],
    ['scope', 'caf\u00e9'],
    ['scope', 7],
    ['dialect', 'other'],
    ['timeoutMs', 999],
    ['timeoutMs', 60_001],
    ['timeoutMs', Number.NaN],
    ['issuer', ''],
    ['issuerParameter', 'required'],
    ['clientSecret', ''],
    ['clientSecret', 7],
  ])('%s %j is refused when the configuration is made', async (name, value) => {
    const options = { ...optionsWith(), [name]: value } as AuthConfigOptions
    expect(await failure(() => createAuthConfig(options))).toMatchObject(invalid)
  })

  it('a baseUrl with an encoded slash in its path is refused, because no request is under it', async () => {
    const error = await failure(() => configWith({ baseUrl: 'https://api.example.com/a%2Fb' }))
    expect(error).toMatchObject({ ...invalid, message: expect.stringContaining('encoded slash') })
  })

  it.each(['authUrl', 'baseUrl', 'redirectUri', 'clientId'])('%s that is not set is called missing', async (name) => {
    for (const value of [undefined, '']) {
      const error = await failure(() => createAuthConfig({ ...optionsWith(), [name]: value } as AuthConfigOptions))
      expect(error).toMatchObject({ ...invalid, message: `Configuration: ${name} is missing.` })
    }
  })

  it.each([1_000, 10_000, 60_000])('timeoutMs %d is within bounds', (timeoutMs) => {
    expect(configWith({ timeoutMs }).timeoutMs).toBe(timeoutMs)
  })

  it('defaults, and a result that later changes to the options do not reach', () => {
    const options = optionsWith()
    const config = createAuthConfig(options)
    expect(config).toMatchObject({
      clientKind: 'public',
      scope: 'api.access',
      dialect: 'service',
      issuer: undefined,
      issuerParameter: 'optional',
      timeoutMs: 10_000,
    })
    options.clientId = 'other'
    expect(config.clientId).toBe('app')
    expect(Object.isFrozen(config)).toBe(true)
  })

  it('what a listener throws does not reach the caller', async () => {
    const { fetch } = scriptedFetch(() => json({ access_token: 'x' }))
    const seen: string[] = []
    const config = configWith({
      fetch,
      onEvent(event) {
        seen.push(event.type)
        throw new Error('listener')
      },
    })
    expect(await exchangeCode(config, await grantFor(config))).toMatchObject({ accessToken: 'x' })
    expect(seen).toEqual(['token_request'])
  })

  it('the fetch of the options is called without a receiver, the platform one looked up at each call', async () => {
    const receivers: unknown[] = []
    const answering = function (this: unknown): Promise<Response> {
      receivers.push(this)
      return Promise.resolve(json({ access_token: 'x' }))
    }
    const injected = configWith({ fetch: answering })
    const platform = configWith()
    await exchangeCode(injected, await grantFor(injected))
    vi.stubGlobal('fetch', answering)
    await exchangeCode(platform, await grantFor(platform))
    expect(receivers).toEqual([undefined, undefined])
  })
})

describe('client secrets in browsers', () => {
  it.each([[['document']], [['importScripts', 'location']]])(
    'a client secret is refused where %j exist',
    async (names) => {
      for (const name of names) vi.stubGlobal(name, {})
      const error = await failure(() => configWith({ clientSecret: secret('client secret') }))
      expect(error).toMatchObject(invalid)
      expect(configWith().clientKind).toBe('public')
    },
  )

  it('a client secret in a test that runs in jsdom names the environment to choose', async () => {
    vi.stubGlobal('document', {})
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (linux) AppleWebKit/537.36 (KHTML, like Gecko) jsdom/29.1.1' })
    const error = await failure(() => configWith({ clientSecret: secret('client secret') }))
    expect(error).toMatchObject({ ...invalid, message: expect.stringContaining('@vitest-environment node') })
  })

  it.each([[[]], [['importScripts']]])('and accepted on a server, also with %j of old Workers', (names) => {
    for (const name of names) vi.stubGlobal(name, {})
    expect(configWith({ clientSecret: secret('client secret') }).clientKind).toBe('confidential')
  })
})
