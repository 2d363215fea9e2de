import { afterEach, describe, expect, it, vi } from 'vitest'
import { createBearerFetch } from '../../src/bearer.ts'
import type { AuthEvent } from '../../src/events.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { createSession } from '../../src/session.ts'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { assertNoLeak, registerSecret, secret } from '../support/canary.ts'
import { configWith, failure, grantFor, json, scriptedFetch, tokensWith } from '../support/token-flow.ts'

afterEach(() => vi.unstubAllGlobals())

/** A `fetch` of an app with a mistake in it. */
type Broken = () => unknown

const token = secret('token')

const mistakes: [string, Broken, string][] = [
  [
    'names what is not there',
    () => {
      throw new ReferenceError(`${token} is not defined`)
    },
    'ReferenceError',
  ],
  [
    'has a setting that the platform refuses',
    () => fetch('https://auth.example.com', { redirect: 'none' as 'manual' }),
    'TypeError',
  ],
  ['returns nothing', async () => undefined, 'no Response'],
  ['returns what axios returns', async () => ({ status: 200, data: { access_token: token } }), 'no Response'],
]

it.each(mistakes)("an app's fetch that %s is config_invalid at once, and uses up no code", async (_, broken, name) => {
  const events: AuthEvent[] = []
  const spy = vi.fn(broken)
  const config = configWith({ fetch: spy as typeof fetch, onEvent: (event) => void events.push(event) })
  const grant = await grantFor(config)
  for (const call of [exchangeCode(config, grant), refreshTokens(config, tokensWith())]) {
    const error = await failure(call)
    expect(error).toMatchObject({ code: 'config_invalid', retryable: false, details: { outcome: 'config' } })
    expect(error.message).toBe(`The option fetch ended with ${name}. Correct it.`)
    assertNoLeak(error)
  }
  expect(spy).toHaveBeenCalledTimes(2)
  expect(events).toMatchObject(Array(2).fill({ type: 'token_request', outcome: 'config', mistake: name }))
  assertNoLeak(events)
  spy.mockImplementation(() => json({ access_token: 'x' }))
  expect(await exchangeCode(config, grant)).toMatchObject({ accessToken: 'x' })
})

it('a setting that the platform refuses is left out, and the request goes out', async () => {
  class OldRequest extends Request {
    constructor(input: string, init: RequestInit = {}) {
      if (init.cache) throw new TypeError("The 'cache' field on 'RequestInitializerDict' is not implemented.")
      super(input, init)
    }
  }
  vi.stubGlobal('Request', OldRequest)
  const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
  expect(await refreshTokens(configWith({ fetch }), tokensWith())).toMatchObject({ accessToken: 'x' })
  expect(calls[0]?.init).not.toHaveProperty('cache')
  expect(calls[0]?.init).toMatchObject({ redirect: 'manual', credentials: 'omit', referrerPolicy: 'no-referrer' })
})

describe('a request that was not sent', () => {
  it.each<[string, Error]>([
    ['Bun', Object.assign(new Error('Unable to connect.'), { code: 'ConnectionRefused' })],
    ['Bun without a name server', Object.assign(new Error('x'), { code: 'FailedToOpenSocket' })],
    [
      'Deno',
      new TypeError('error sending request for url (https://auth.example.com/): client error (Connect): refused'),
    ],
    ['Node', new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }) })],
  ])('is known by the error of %s', async (_, error) => {
    const { fetch } = scriptedFetch(error)
    expect((await failure(refreshTokens(configWith({ fetch }), tokensWith()))).details).toEqual({ outcome: 'not_sent' })
  })
})

it('a value that is no signal is refused, and no promise is left unhandled', async () => {
  const unhandled = vi.fn()
  process.on('unhandledRejection', unhandled)
  const { fetch, calls } = scriptedFetch(() => json({ error: 'invalid_grant' }, { status: 400 }))
  const config = configWith({ fetch })
  const grant = await grantFor(config)
  registerSecret('token', token)
  const session = createSession(config)
  await session.signIn(tokensWith())
  const send = createBearerFetch(session, { baseUrl: config.baseUrl, fetch })
  for (const signal of [new AbortController(), {}, 'signal', true] as unknown as AbortSignal[])
    for (const call of [
      exchangeCode(config, grant, { signal }),
      refreshTokens(config, tokensWith(), { signal }),
      session.getAccessToken({ signal }),
      send(`${config.baseUrl}/x`, { signal }),
    ])
      expect(await failure(call)).toMatchObject({
        code: 'config_invalid',
        message: 'Configuration: signal must be an AbortSignal.',
      })
  await new Promise(setImmediate)
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
  expect(calls).toEqual([])
})
