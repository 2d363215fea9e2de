import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type PendingLogin, startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import { isAgentAuthError } from '../../src/errors.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { anyText } from '../support/any-text.ts'
import { secret } from '../support/canary.ts'
import { testClock } from '../support/clock.ts'
import { callbackUrl, configWith, failure, json, redirectUri, scriptedFetch } from '../support/token-flow.ts'

const clock = testClock()
const at = { nowMs: clock.wallMs() }

async function begin(options: Parameters<typeof configWith>[0] = {}): Promise<PendingLogin> {
  return (await startLogin(configWith({ clock, ...options }), { returnTo: '/deep?link#here' })).pending
}

/** Each registered code: what the message must say of it, and who acts. */
const registered: [error: string, remedy: RegExp][] = [
  ['access_denied', /access_denied\. Offer the sign-in again\./],
  ['invalid_request', /Developer: check redirectUri, params/],
  ['unauthorized_client', /Developer: check clientId\. User: use an account whose tenant has approved this app\./],
  ['unsupported_response_type', /Operator: allow this client the authorization code flow\./],
  ['invalid_scope', /Developer: set scope to one that this client may have\./],
  ['server_error', /Try again later\./],
  ['temporarily_unavailable', /Try again later\./],
  ['interaction_required', /without prompt=none\./],
  ['login_required', /without prompt=none\./],
  ['consent_required', /without prompt=none\./],
  ['invalid_client', /Developer: check clientId, clientSecret and basicEncoding\./],
]

describe('refusals', () => {
  it.each(registered)(
    'the message of a login refused with %s names it, and who has to do what',
    async (error, remedy) => {
      const pending = await begin()
      const { message } = await failure(() => readCallback(pending, callbackUrl(pending, { error }), at))
      expect(message).toMatch(new RegExp(`^The service refused the login: ${error}\\. `))
      expect(message).toMatch(remedy)
      expect(message.length).toBeLessThanOrEqual(160)
    },
  )

  it.each([
    'something_new',
    'constructor',
    'toString',
    'invalid_scope ',
    'Invalid_Scope',
    'login_required interaction_required',
    'eyJhbGciOiJIUzI1NiJ9.e30.x',
  ])('a code that is not registered, %j, is not quoted in the message', async (error) => {
    const pending = await begin()
    const refused = await failure(() => readCallback(pending, callbackUrl(pending, { error }), at))
    expect(refused.message).toBe('The service refused the login: see details.error. Start the login again.')
  })

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
    ['unauthorized_client', false],
    ['unsupported_response_type', false],
    ['invalid_scope', false],
    ['login_required', false],
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
      expect(error.details).toBeUndefined()
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
    await fc.assert(
      fc.asyncProperty(anyText(2_000), async (text) => {
        const { errorDescription = '', errorUri = '' } = (await describedAny(pending, text)) ?? {}
        expect(errorDescription).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]{0,512}$/)
        expect(errorUri).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]{0,512}$/)
      }),
      { numRuns: 200 },
    )
  })

  it.each([
    'javascript:alert(1)',
    'JavaScript:alert(1)',
    'data:text/html,x',
    '//e.com',
    '/e',
    'file:///etc/passwd',
    'httpx://e.com',
  ])('error_uri %s is dropped', async (uri) => {
    const pending = await begin()
    const read = () => readCallback(pending, callbackUrl(pending, { error: 'server_error', error_uri: uri }), at)
    expect((await failure(read)).details).toEqual({ error: 'server_error', returnTo: '/deep?link#here' })
  })

  it('the error code itself is capped and cleaned', async () => {
    const pending = await begin()
    const read = (error: string) => () => readCallback(pending, callbackUrl(pending, { error }), at)
    const { details, message } = await failure(read(`<b>${'x'.repeat(1_000)}`))
    expect(details?.error).toBe(`<b>${'x'.repeat(61)}`)
    expect(message).not.toContain('xx')
    expect((await failure(read('a\u202e"\\b'))).details?.error).toBe('ab')
  })
})

async function describedAny(pending: PendingLogin, text: string) {
  const query = { error: 'server_error', error_description: text, error_uri: `https://e.com/${text}` }
  return (await failure(() => readCallback(pending, callbackUrl(pending, query), at))).details
}

describe('the code', () => {
  it.each([
    ['one character', 'c', true],
    ['4,096 characters', 'c'.repeat(4_096), true],
    ['4,097 characters', 'c'.repeat(4_097), false],
    ['1 MB', 'c'.repeat(1_000_000), false],
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
  it('any callback URL: a grant or a typed error, which quotes nothing', async () => {
    const pending = await begin()
    const code = secret('code')
    const names = fc.constantFrom(
      'code',
      'state',
      'error',
      'error_description',
      'error_uri',
      'iss',
      'x',
      'code[]',
      '__proto__',
      'c%6fde',
    )
    const values = fc.oneof(
      fc.constantFrom(pending.state, code, '', '%', '%00', '%ff', '&', '=', '#', '\u202e', '\ud800', 'access_denied'),
      anyText(12),
    )
    // What a callback says of an error is shown in the details: the code is not offered as that.
    const parameter = fc.tuple(names, values).filter(([k, v]) => v !== code || !k.startsWith('error'))
    const query = fc.array(parameter, { maxLength: 6 }).map((all) => all.map(([k, v]) => `${k}=${v}`).join('&'))
    const place = fc.constantFrom(
      redirectUri,
      '',
      '/callback',
      'https://[',
      'https://e.com/callback',
      'http://',
      '//',
      '?',
      `https://u:${code}@x y/`,
    )
    const mark = fc.constantFrom('?', '#', '/?', '&')
    fc.assert(
      fc.property(
        fc.oneof(
          fc.tuple(place, mark, query).map((all) => all.join('')),
          anyText(10),
        ),
        (url) => {
          try {
            expect(Object.keys(readCallback(pending, url, at))).toEqual(['returnTo'])
          } catch (error) {
            if (!isAgentAuthError(error)) throw error
          }
        },
      ),
      { numRuns: 500 },
    )
  })

  it('any record that comes out of a storage: a grant or a typed error', async () => {
    const pending = await begin()
    const url = callbackUrl(pending, { code: 'c', iss: 'x' })
    const members = Object.keys(pending) as (keyof PendingLogin)[]
    const replacement = fc.oneof(
      fc.constant(undefined),
      fc.jsonValue(),
      fc.constantFrom('', ' ', 'not a url', 'https://[', -1, null, Number.NaN, `http://u:${secret('password')}@`),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...members),
        replacement,
        fc.constantFrom(url, '?code=c', '?error=x'),
        (name, value, back) => {
          try {
            readCallback({ ...pending, [name]: value } as PendingLogin, back, at)
          } catch (error) {
            if (!isAgentAuthError(error)) throw error
          }
        },
      ),
      { numRuns: 300 },
    )
  })

  it.each([undefined, null, 'yesterday', Number.NaN])(
    'a record made at %j does not count for ever',
    async (createdAtMs) => {
      const pending = { ...(await begin()), createdAtMs } as PendingLogin
      const error = await failure(() => readCallback(pending, callbackUrl(pending, { code: 'c' }), at))
      expect(['flow_expired', 'flow_not_found']).toContain(error.code)
    },
  )
})
