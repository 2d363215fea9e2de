import { afterEach, describe, expect, it, vi } from 'vitest'
import { startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import type { AuthConfigOptions } from '../../src/config.ts'
import { exchangeCode } from '../../src/exchange.ts'
import type { Grant } from '../../src/grant.ts'
import { secret } from '../support/canary.ts'
import { refusingOrigin } from '../support/free-port.ts'
import {
  callbackUrl,
  configWith,
  failure,
  grantFor,
  json,
  privateSettings,
  redirectUri,
  scriptedFetch,
  tokenUrl,
} from '../support/token-flow.ts'

afterEach(() => vi.useRealTimers())

describe('the request', () => {
  it('to a token endpoint of its own keeps the dialect', async () => {
    const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
    const config = configWith({ fetch, tokenEndpoint: 'https://auth.example.com/tenant/a/oauth/token' })
    await exchangeCode(config, await grantFor(config))
    expect(calls[0]?.url).toBe('https://auth.example.com/tenant/a/oauth/token?grant_type=authorization_code')
  })

  it('omits credentials, caches nothing, names no referrer, follows nothing, needs no preflight', async () => {
    const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
    const config = configWith({ fetch })
    await exchangeCode(config, await grantFor(config))
    expect(calls[0]).toMatchObject({
      url: `${tokenUrl}?grant_type=authorization_code`,
      init: {
        ...privateSettings,
        headers: { accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      },
    })
    // Both are safelisted for a form post: a browser sends it without asking first.
    expect(Object.keys(calls[0]?.init.headers ?? {}).sort()).toEqual(['accept', 'content-type'])
    expect(typeof calls[0]?.init.body).toBe('string')
  })

  const awkward = ['a:b', 'a b', 'caf\u00e9', '\ud83d\ude00', "!*'()", 'a&b=c', '"\\']

  it('the vectors of form encoding: only what lies outside the unreserved characters is escaped', async () => {
    expect(await basicPair({ clientId: 'a-b_c.d~e', clientSecret: 'A9-_.~' })).toEqual(['a-b_c.d~e', 'A9-_.~'])
    expect(await basicPair({ clientId: 'id:1', clientSecret: "s%+ \u00e9!*'()" })).toEqual([
      'id%3A1',
      's%25%2B%20%C3%A9%21%2A%27%28%29',
    ])
  })

  it.each(awkward)('a secret %j goes out as it is with basicEncoding raw', async (clientSecret) => {
    const [id, ...rest] = await basicPair({ clientId: 'app', clientSecret, basicEncoding: 'raw' })
    expect({ clientId: id, clientSecret: rest.join(':') }).toEqual({ clientId: 'app', clientSecret })
  })
})

/** Both halves of the Basic credentials, as they are between base64 and form encoding. */
async function basicPair(options: Partial<AuthConfigOptions>): Promise<string[]> {
  const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
  const config = configWith({ ...options, fetch })
  await exchangeCode(config, await grantFor(config))
  const authorization = new Headers(calls[0]?.init.headers).get('authorization') ?? ''
  const body = new URLSearchParams(String(calls[0]?.init.body))
  expect({ hasClientId: body.has('client_id'), hasClientSecret: body.has('client_secret') }).toEqual({
    hasClientId: false,
    hasClientSecret: false,
  })
  return Buffer.from(authorization.replace(/^Basic /, ''), 'base64')
    .toString('utf8')
    .split(':')
}

describe('one code, one request', () => {
  it('what readCallback did not make is not exchanged', async () => {
    const { fetch, calls } = scriptedFetch()
    const config = configWith({ fetch })
    const grant = await grantFor(config)
    const forged = [
      {},
      { returnTo: '/' },
      { ...grant },
      structuredClone(grant),
      Object.create(grant),
      { code: 'c', state: 's' },
    ]
    for (const value of forged)
      expect(await failure(exchangeCode(config, value as Grant))).toMatchObject({ code: 'state_mismatch' })
    for (const value of [undefined, null, 'code', 7])
      expect(await failure(exchangeCode(config, value as never))).toMatchObject({ code: 'state_mismatch' })
    expect(calls).toEqual([])
  })

  it('concurrent and repeated calls share one request and one result', async () => {
    const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
    const config = configWith({ fetch })
    const grant = await grantFor(config)
    const all = await Promise.all(Array.from({ length: 50 }, () => exchangeCode(config, grant)))
    all.push(await exchangeCode(config, grant))
    expect(new Set(all).size).toBe(1)
    expect(calls).toHaveLength(1)
  })

  it.each([
    ['an answer that is not JSON', () => json('<html>')],
    ['a body without a token', () => json({})],
    ['another token type', () => json({ access_token: 'x', token_type: 'DPoP' })],
    ['too much', () => json(`{"access_token":"x","pad":"${'a'.repeat(300_000)}"}`)],
    ['status 429', () => json({}, { status: 429 })],
    ['a captive portal', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
    ['invalid_grant', () => json({ error: 'invalid_grant' }, { status: 400 })],
    ['a reset', new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) })],
    ['an error of any kind', new Error('boom')],
  ])('after %s the code is not sent again, and the caller is not told to try the same', async (_, answer) => {
    const { fetch, calls } = scriptedFetch(answer, () => json({ access_token: 'second' }))
    const config = configWith({ fetch })
    const grant = await grantFor(config)
    const first = await failure(exchangeCode(config, grant))
    expect(await failure(exchangeCode(config, grant))).toBe(first)
    expect(calls).toHaveLength(1)
    expect(first.retryable).toBe(false)
    expect(first.message).toMatch(/login|sign in/)
  })

  it('after an error of any kind the code is not sent again where a browser says that it is offline', async () => {
    vi.stubGlobal('navigator', { onLine: false })
    try {
      const { fetch, calls } = scriptedFetch(new TypeError('Failed to fetch'), () => json({ access_token: 'second' }))
      const config = configWith({ fetch })
      const grant = await grantFor(config)
      const error = await failure(exchangeCode(config, grant))
      expect(error).toMatchObject({ code: 'exchange_interrupted', retryable: false, details: { outcome: 'ambiguous' } })
      expect(await failure(exchangeCode(config, grant))).toBe(error)
      expect(calls).toHaveLength(1)
    } finally {
      vi.unstubAllGlobals()
    }
  })

  it('a deadline that passes is no invitation to send the code again', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { fetch, calls } = scriptedFetch(() => new Promise<Response>(() => {}))
    const config = configWith({ fetch, timeoutMs: 1_000 })
    const grant = await grantFor(config)
    const call = failure(exchangeCode(config, grant))
    await vi.advanceTimersByTimeAsync(1_000)
    const error = await call
    expect(error).toMatchObject({ code: 'exchange_interrupted', retryable: false, details: { outcome: 'ambiguous' } })
    expect(await failure(exchangeCode(config, grant))).toBe(error)
    expect(calls).toHaveLength(1)
  })

  async function refusedConnection(): Promise<Error> {
    return fetch(await refusingOrigin()).then(
      () => new Error('The port was taken.'),
      (error: Error) => error,
    )
  }

  it('a connection refused twice, then a server: one request reaches it', async () => {
    const refused = await refusedConnection()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { fetch, calls } = scriptedFetch(refused, refused, () => json({ access_token: 'x' }))
    const events: unknown[] = []
    const config = configWith({ fetch, onEvent: (event) => events.push(event) })
    const call = exchangeCode(config, await grantFor(config))
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await call).toMatchObject({ accessToken: 'x' })
    expect(calls).toHaveLength(3)
    expect(events).toMatchObject([{ outcome: 'not_sent' }, { outcome: 'not_sent' }, { outcome: 'ok' }])
  })

  it('a connection refused three times: retryable, and the same grant still works later', async () => {
    const refused = await refusedConnection()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { fetch, calls } = scriptedFetch(refused, refused, refused, () => json({ access_token: 'x' }))
    const config = configWith({ fetch })
    const grant = await grantFor(config)
    const call = failure(exchangeCode(config, grant))
    await vi.advanceTimersByTimeAsync(10_000)
    expect(await call).toMatchObject({
      code: 'temporarily_unavailable',
      retryable: true,
      details: { outcome: 'not_sent' },
    })
    expect(calls).toHaveLength(3)
    expect(await exchangeCode(config, grant)).toMatchObject({ accessToken: 'x' })
    expect(calls).toHaveLength(4)
  })

  it.each([
    'ECONNREFUSED',
    'ENOTFOUND',
    'UND_ERR_CONNECT_TIMEOUT',
    'CERT_HAS_EXPIRED',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ])('%s came before a byte was sent: tried again', async (code) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const early = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) })
    const { fetch, calls } = scriptedFetch(early, () => json({ access_token: 'x' }))
    const config = configWith({ fetch })
    const call = exchangeCode(config, await grantFor(config))
    await vi.advanceTimersByTimeAsync(5_000)
    expect(await call).toMatchObject({ accessToken: 'x' })
    expect(calls).toHaveLength(2)
  })

  it.each([
    'ECONNRESET',
    'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
    'UND_ERR_SOCKET',
    'UND_ERR_HEADERS_TIMEOUT',
    undefined,
    7,
  ])('%s may have come after the code was sent: exchange_interrupted, at once', async (code) => {
    const late = new TypeError('fetch failed', { cause: Object.assign(new Error(), { code }) })
    const { fetch, calls } = scriptedFetch(late, () => json({ access_token: 'x' }))
    const config = configWith({ fetch })
    expect(await failure(exchangeCode(config, await grantFor(config)))).toMatchObject({
      code: 'exchange_interrupted',
      retryable: false,
      details: { outcome: 'ambiguous' },
    })
    expect(calls).toHaveLength(1)
  })

  it('the redirect URI and verifier of the login are sent, also if the configuration has changed since', async () => {
    const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
    const before = configWith()
    const { pending } = await startLogin(before)
    const grant = readCallback(pending, callbackUrl(pending, { code: 'c' }), { nowMs: before.clock.wallMs() })
    await exchangeCode(configWith({ fetch, redirectUri: 'https://app.example.com/other' }), grant)
    const body = new URLSearchParams(String(calls[0]?.init.body))
    expect(body.get('redirect_uri')).toBe(redirectUri)
    expect(body.get('code_verifier')).toBe(pending.codeVerifier)
  })
})

describe('waiting', () => {
  it('nine of ten callers give up: the tenth gets the tokens of the one request', async () => {
    let answer: (response: Response) => void = () => {}
    const { fetch, calls } = scriptedFetch(() => new Promise<Response>((resolve) => (answer = resolve)))
    const config = configWith({ fetch })
    const grant = await grantFor(config)
    const controllers = Array.from({ length: 10 }, () => new AbortController())
    const waits = controllers.map(({ signal }) => exchangeCode(config, grant, { signal }))
    const outcomes = Promise.allSettled(waits)
    await expect.poll(() => calls).toHaveLength(1)
    for (const controller of controllers.slice(0, 9)) controller.abort(new Error(secret('abort reason')))
    for (const wait of waits.slice(0, 9)) expect(await failure(wait)).toMatchObject({ code: 'aborted' })
    expect(calls[0]?.init.signal?.aborted).toBe(false)
    answer(json({ access_token: 'x' }))
    expect((await outcomes).map(({ status }) => status)).toEqual([...Array(9).fill('rejected'), 'fulfilled'])
  })

  it('when all give up, the request goes on and its tokens are there for the next who asks', async () => {
    let answer: (response: Response) => void = () => {}
    const { fetch, calls } = scriptedFetch(() => new Promise<Response>((resolve) => (answer = resolve)))
    const config = configWith({ fetch })
    const grant = await grantFor(config)
    const controller = new AbortController()
    const wait = failure(exchangeCode(config, grant, { signal: controller.signal }))
    await expect.poll(() => calls).toHaveLength(1)
    controller.abort()
    expect(await wait).toMatchObject({ code: 'aborted' })
    answer(json({ access_token: 'x' }))
    expect(await exchangeCode(config, grant)).toMatchObject({ accessToken: 'x' })
    expect(calls).toHaveLength(1)
  })

  it('a signal that fired before: aborted, nothing is sent, and the grant is not lost', async () => {
    const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
    const config = configWith({ fetch })
    const grant = await grantFor(config)
    expect(await failure(exchangeCode(config, grant, { signal: AbortSignal.abort() }))).toMatchObject({
      code: 'aborted',
    })
    expect(calls).toEqual([])
    expect(await exchangeCode(config, grant)).toMatchObject({ accessToken: 'x' })
    expect(calls).toHaveLength(1)
  })
})
