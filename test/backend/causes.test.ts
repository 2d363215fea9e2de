import type { TokenStorage } from 'agent-auth'
import type { BackendEvent } from 'agent-auth/backend'
import { describe, expect, test } from 'vitest'
import { causeOf } from '../../src/backend/error-cause.ts'
import { type BackendRig, guard, searchPath, statusAndCode } from '../support/backend-rig.ts'
import { assertNoLeak, secret } from '../support/canary.ts'
import { testClock } from '../support/clock.ts'
import { freePort } from '../support/free-port.ts'
import { rigOf } from '../support/rig-of.ts'

const lastOf = <T extends BackendEvent['type']>(rig: BackendRig, type: T): Extract<BackendEvent, { type: T }> =>
  rig.events.findLast((event): event is Extract<BackendEvent, { type: T }> => event.type === type) as never

describe('the cause of an event', () => {
  const token = secret('token')

  test('has class, code and places of an error, and of those it wraps', () => {
    const inner = Object.assign(new Error(`connect ${token}`), { code: 'ECONNREFUSED', address: token })
    const cause = causeOf(new TypeError(`fetch ${token} failed`, { cause: inner }))
    expect(cause).toMatchObject({ name: 'TypeError', cause: { name: 'Error', code: 'ECONNREFUSED' } })
    expect(cause.stack?.[0]).toMatch(/^at .*backend\/causes\.test\.ts:\d+:\d+\)?$/)
    expect(cause.stack?.length).toBeLessThanOrEqual(5)
    assertNoLeak(cause)
  })

  test.each<[string, () => unknown]>([
    ['a message of several lines that looks like places', () => new Error(`x\n    at ${token} (/a.js:1:1)\n    at b`)],
    [
      'a message that was changed later',
      () => Object.assign(new Error(`x\n    at ${token} (/a.js:1:1)`), { message: 'changed' }),
    ],
    ['a name', () => Object.assign(new Error('x'), { name: token })],
    ['a code', () => Object.assign(new Error('x'), { code: token })],
    ['a code in small letters', () => Object.assign(new Error('x'), { code: token.toLowerCase() })],
    ['a member', () => Object.assign(new Error('x'), { response: { body: token }, config: token })],
    [
      'a stack of its own',
      () => Object.assign(new Error('x'), { stack: `Error: ${token}\n    at ${token} (/a.js:1:1)` }),
    ],
    ['a place with a query', () => Object.assign(new Error('x'), { stack: `Error: x\n    at f (/a.js?${token}:1:1)` })],
    ['a text', () => token],
    ['an object', () => ({ message: token, name: token, code: token, stack: token })],
    [
      'wrapped errors without end',
      () =>
        Object.assign(new Error('x'), {
          cause: {
            get cause() {
              return this
            },
            token,
          },
        }),
    ],
    ['an aggregate', () => new AggregateError([new Error(token)], token)],
  ])('holds nothing of a secret in %s', (_, make) => {
    assertNoLeak(causeOf(make()))
  })
})

describe('errors that are not expected', () => {
  test('in a route: a 500 without details, and an event with the route and the cause', async () => {
    const token = secret('in an error')
    let broken = false
    const clock = { ...testClock(Date.now()) }
    const rig = await rigOf({
      backend: {
        clock: {
          monotonicMs: clock.monotonicMs,
          wallMs() {
            if (broken) throw new RangeError(token)
            return clock.wallMs()
          },
        },
      },
    })
    const browser = rig.browser()
    await browser.logIn()
    broken = true
    for (const [path, method, route] of [
      ['/auth/session', 'GET', 'GET /auth/session'],
      ['/auth/login', 'GET', 'GET /auth/login'],
      ['/auth/callback?code=c&state=s', 'GET', 'GET /auth/callback'],
      ['/auth/logout', 'POST', 'POST /auth/logout'],
      ['/api/parent_agents/7/state_function/context_variables', 'GET', rig.options.proxy?.[2]],
    ] as const) {
      const answered = await browser.send(path, { method, headers: guard })
      assertNoLeak(Object.fromEntries(answered.headers))
      expect(await statusAndCode(answered)).toEqual({ status: 500, code: 'request_failed' })
      const event = lastOf(rig, 'unexpected_error')
      expect(event).toMatchObject({ route, cause: { name: 'RangeError', stack: expect.any(Array) } })
      assertNoLeak(event)
      rig.events.length = 0
    }
  })

  test('an API that is not reached: 502, and the event says why', async () => {
    const port = await freePort()
    const rig = await rigOf()
    const browser = rig.browser()
    await browser.logIn()
    const refused = rig.browser(rig.another({ baseUrl: `http://127.0.0.1:${port}`, fetch: undefined }))
    refused.setCookie(...browser.session())
    expect(await statusAndCode(await refused.call())).toEqual({ status: 502, code: 'request_failed' })
    expect(lastOf(rig, 'proxied')).toMatchObject({
      status: 502,
      cause: {
        name: 'TypeError',
        message: `http://127.0.0.1:${port} gave no response. Check that it runs, and baseUrl.`,
        cause: { code: 'ECONNREFUSED' },
      },
    })
  })

  test('an authorization server that is not there: the event of the callback names it and the option, the page does not', async () => {
    const port = await freePort()
    const rig = await rigOf()
    const authUrl = `http://127.0.0.1:${port}`
    const browser = rig.browser(rig.another({ authUrl, fetch: undefined }))
    const started = await browser.send('/auth/login')
    const location = new URL(started.headers.get('location') ?? '')
    // The browser itself shows that there is no server at this address.
    expect(location.origin).toBe(authUrl)
    const answered = await browser.send(`/auth/callback?code=c&state=${location.searchParams.get('state')}`)
    expect(answered.status).toBe(503)
    expect(await answered.text()).not.toContain(`:${port}`)
    expect(lastOf(rig, 'login_failed')).toEqual({
      type: 'login_failed',
      durationMs: expect.any(Number),
      code: 'temporarily_unavailable',
      cause: {
        name: 'AgentAuthError',
        code: 'temporarily_unavailable',
        message: expect.stringMatching(`^${authUrl} .*check authUrl and tokenEndpoint`),
      },
    })
  })

  test.each<[runtime: string, error: Error]>([
    ['Node', new TypeError('fetch failed', { cause: new Error('unexpected redirect') })],
    ['Deno', new TypeError("Fetch failed: Encountered redirect while redirect mode is set to 'error'")],
    ['Bun', Object.assign(new TypeError('UnexpectedRedirect fetching "https://a.example/"'), { code: 'ERR' })],
  ])('a redirect of the API that `fetch` of %s refuses: 502, and a retry is of no use', async (_, error) => {
    const rig = await rigOf({ api: () => Promise.reject(error) })
    const browser = rig.browser()
    await browser.logIn()
    const answered = await browser.call()
    expect(answered.status).toBe(502)
    expect(await answered.json()).toEqual({
      code: 'request_failed',
      message: 'The API responded with a redirect, which is not followed. Check baseUrl and the paths in proxy.',
      retryable: false,
    })
  })

  test('a response of the API that ends early: an event with the route and the cause', async () => {
    const token = secret('in a stream')
    const body = new ReadableStream({
      pull(controller) {
        controller.error(Object.assign(new Error(token), { code: 'ECONNRESET' }))
      },
    })
    const rig = await rigOf({ api: () => new Response(body) })
    const browser = rig.browser()
    await browser.logIn()
    const answered = await browser.call()
    await expect(answered.text()).rejects.toThrow('ended early')
    const event = lastOf(rig, 'proxy_interrupted')
    expect(event).toMatchObject({ route: `POST ${searchPath}`, cause: { code: 'ECONNRESET' } })
    assertNoLeak(event)
  })

  test('a revocation that fails: the event says why', async () => {
    const rig = await rigOf()
    const fetcher: typeof fetch = async (input, init) => {
      if (!String(input).endsWith('/revoke')) return rig.service.fetch(input as string, init)
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ENOTFOUND' }) })
    }
    const browser = rig.browser(rig.another({ fetch: fetcher, revocationEndpoint: 'https://auth.example.com/revoke' }))
    await browser.logIn()
    await browser.logOut()
    expect(lastOf(rig, 'logged_out')).toMatchObject({
      revocation: 'failed',
      cause: {
        message: 'https://auth.example.com gave no response. Check that it runs, and revocationEndpoint.',
        cause: { code: 'ENOTFOUND' },
      },
    })
  })

  type Operation = 'getItem' | 'setItem' | 'removeItem' | 'withLock'
  test.each<Operation>(['getItem', 'setItem', 'removeItem', 'withLock'])(
    'a store whose %s fails: an event with the operation and the cause',
    async (operation) => {
      const token = secret('in the store')
      let failing = false
      const rig = await rigOf()
      const fail = async (): Promise<never> => {
        throw Object.assign(new Error(`NOAUTH ${token}`), { code: 'NOAUTH' })
      }
      const sessions = new Proxy(rig.sessions, {
        get(target, name: Operation) {
          return failing && name === operation ? fail : target[name]
        },
      }) as TokenStorage
      const browser = rig.browser(rig.another({ sessions }))
      failing = operation === 'setItem' || operation === 'withLock'
      await browser.logIn()
      failing = true
      await browser.status()
      if (operation === 'getItem') {
        const elsewhere = rig.browser(rig.another({ sessions }))
        for (const [name, { value }] of browser.cookies) elsewhere.setCookie(name, value)
        expect(await statusAndCode(await elsewhere.call())).toEqual({ status: 503, code: 'storage_failed' })
      }
      if (operation === 'removeItem') await browser.logOut()
      const event = lastOf(rig, 'storage_error')
      expect(event).toMatchObject({ operation, cause: { name: 'Error', code: 'NOAUTH' } })
      assertNoLeak(event)
    },
  )
})
