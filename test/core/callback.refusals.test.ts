import { describe, expect, it } from 'vitest'
import { type PendingLogin, startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { testClock } from '../support/clock.ts'
import { callbackUrl, configWith, failure, json, redirectUri, scriptedFetch } from '../support/token-flow.ts'

const clock = testClock()
const at = { nowMs: clock.wallMs() }

async function begin(options: Parameters<typeof configWith>[0] = {}): Promise<PendingLogin> {
  return (await startLogin(configWith({ clock, ...options }), { returnTo: '/deep?link#here' })).pending
}

describe('refusals', () => {
  it.each(['something_new', 'toString', 'eyJhbGciOiJIUzI1NiJ9.e30.x'])(
    'a code that is not registered, %j, is not quoted in the message',
    async (error) => {
      const pending = await begin()
      const refused = await failure(() => readCallback(pending, callbackUrl(pending, { error }), at))
      expect(refused.message).toBe('The service refused the login: see details.error. Start the login again.')
    },
  )

  it('a denial with a valid state is typed, with the place to go back to', async () => {
    const pending = await begin()
    const url = callbackUrl(pending, {
      error: 'access_denied',
      error_description: 'No.',
      error_uri: 'https://e.com/why',
    })
    expect(await failure(() => readCallback(pending, url, at))).toMatchObject({
      code: 'login_denied',
      retryable: false,
      details: {
        error: 'access_denied',
        errorDescription: 'No.',
        errorUri: 'https://e.com/why',
        returnTo: '/deep?link#here',
      },
    })
  })

  it.each([
    ['invalid_request', false],
    ['something_new', false],
    ['server_error', true],
    ['temporarily_unavailable', true],
  ])('error=%s: login_failed, retryable %s', async (error, retryable) => {
    const pending = await begin()
    const read = () => readCallback(pending, callbackUrl(pending, { error }), at)
    expect(await failure(read)).toMatchObject({ code: 'login_failed', retryable, details: { error } })
  })

  it.each(['?code=c&error=access_denied', '?error=server_error&code=c'])(
    'a callback with code and error together is malformed: %s',
    async (query) => {
      const pending = await begin()
      const read = () => readCallback(pending, `${redirectUri}${query}&state=${pending.state}`, at)
      const error = await failure(read)
      expect(error).toMatchObject({ code: 'callback_malformed' })
      expect(error.details).toEqual({ returnTo: pending.returnTo })
    },
  )

  it('a callback with neither code nor error is malformed', async () => {
    const pending = await begin()
    const read = () => readCallback(pending, callbackUrl(pending, {}), at)
    expect(await failure(read)).toMatchObject({ code: 'callback_malformed' })
  })

  it('error_description is capped and keeps only the characters of the RFC', async () => {
    const pending = await begin()
    const described = async (text: string) => {
      const query = { error: 'server_error', error_description: text, error_uri: `https://e.com/${text}` }
      const error = await failure(() => readCallback(pending, callbackUrl(pending, query), at))
      expect(error.message).not.toContain(text.slice(0, 20))
      return error.details
    }
    const long = await described('a'.repeat(1_000_000))
    expect(long?.errorDescription).toBe('a'.repeat(512))
    expect(long?.errorUri).toHaveLength(512)
    const bidi = await described('pay \u202eevil\u2066 \u200e\ufeff"now"\\ \u0000\u001b[31m\r\nX: y \u00e9\u2603')
    expect(bidi?.errorDescription).toBe('pay evil now [31mX: y ')
    const markup = await described('<img src=x onerror="alert(1)">')
    expect(markup?.errorDescription).toBe('<img src=x onerror=alert(1)>')
  })

  it.each(['javascript:alert(1)', 'JavaScript:alert(1)', 'data:text/html,x', '//e.com', '/e', 'httpx://e.com'])(
    'error_uri %s is dropped',
    async (uri) => {
      const pending = await begin()
      const read = () => readCallback(pending, callbackUrl(pending, { error: 'server_error', error_uri: uri }), at)
      expect((await failure(read)).details).toEqual({ error: 'server_error', returnTo: '/deep?link#here' })
    },
  )

  it('the error code itself is capped and cleaned', async () => {
    const pending = await begin()
    const read = (error: string) => () => readCallback(pending, callbackUrl(pending, { error }), at)
    const { details, message } = await failure(read(`<b>${'x'.repeat(1_000)}`))
    expect(details?.error).toBe(`<b>${'x'.repeat(61)}`)
    expect(message).not.toContain('xx')
    expect((await failure(read('a\u202e"\\b'))).details?.error).toBe('ab')
  })
})

describe('the code', () => {
  it.each([
    ['one character', 'c', true],
    ['4,096 characters', 'c'.repeat(4_096), true],
    ['4,097 characters', 'c'.repeat(4_097), false],
  ])('a code of %s is accepted up to 4,096 characters', async (_, code, accepted) => {
    const config = configWith({ clock, fetch: scriptedFetch(() => json({ access_token: 'x' })).fetch })
    const { pending } = await startLogin(config)
    const read = () => readCallback(pending, callbackUrl(pending, { code }), at)
    if (accepted) expect(read()).toBeDefined()
    else expect(await failure(read)).toMatchObject({ code: 'callback_malformed' })
  })

  it('is opaque: it reaches the token endpoint as it came', async () => {
    const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
    const config = configWith({ clock, fetch })
    for (const code of ['a b+c', '%41&state=x', '"\\\u00e9\u2603', 'a=b', '\r\n']) {
      const { pending } = await startLogin(config)
      await exchangeCode(config, readCallback(pending, callbackUrl(pending, { code }), at))
      expect(new URLSearchParams(String(calls.at(-1)?.init.body)).getAll('code')).toEqual([code])
    }
  })
})

describe('any input', () => {
  it.each([undefined, null, 'yesterday', Number.NaN])(
    'a record made at %j does not count for ever',
    async (createdAtMs) => {
      const pending = { ...(await begin()), createdAtMs } as PendingLogin
      const error = await failure(() => readCallback(pending, callbackUrl(pending, { code: 'c' }), at))
      expect(['flow_expired', 'flow_not_found']).toContain(error.code)
    },
  )
})
