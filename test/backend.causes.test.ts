import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TokenStorage } from 'agent-auth'
import type { BackendEvent } from 'agent-auth/backend'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { causeOf } from '../src/backend/error-cause.ts'
import { AgentAuthError } from '../src/errors.ts'
import { type BackendRig, backendRig, codeOf, guard, type RigOptions, searchPath } from './support/backend-rig.ts'
import { assertNoLeak, secret } from './support/canary.ts'
import { testClock } from './support/clock.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})
async function rigOf(options?: RigOptions): Promise<BackendRig> {
  const rig = await backendRig(options)
  closing.push(() => rig.close())
  return rig
}
const lastOf = <T extends BackendEvent['type']>(rig: BackendRig, type: T): Extract<BackendEvent, { type: T }> =>
  rig.events.findLast((event): event is Extract<BackendEvent, { type: T }> => event.type === type) as never

describe('the cause of an event', () => {
  const token = secret('token')

  test('C-062 has class, code and places of an error, and of those it wraps', () => {
    const inner = Object.assign(new Error(`connect ${token}`), { code: 'ECONNREFUSED', address: token })
    const cause = causeOf(new TypeError(`fetch ${token} failed`, { cause: inner }))
    expect(cause).toMatchObject({ name: 'TypeError', cause: { name: 'Error', code: 'ECONNREFUSED' } })
    expect(cause.stack?.[0]).toMatch(/^at .*backend\.causes\.test\.ts:\d+:\d+\)?$/)
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
  ])('C-062 tells nothing of a secret in %s', (_, make) => {
    assertNoLeak(causeOf(make()))
  })

  test('C-062 tells nothing of a secret wherever random text puts it', () => {
    const part = fc.oneof(fc.string(), fc.constantFrom('\n    at ', '\n', ': ', 'Error', '(/a.js:1:1)', token))
    const text = fc.array(part, { maxLength: 6 }).map((parts) => `${parts.join('')}${token}`)
    fc.assert(
      fc.property(text, text, (message, later) => {
        const error = new Error(message)
        assertNoLeak(causeOf(error))
        error.message = later
        assertNoLeak(causeOf(error))
      }),
      { numRuns: 500 },
    )
  })

  test('C-062 has the message of an error of this library, which was checked', () => {
    expect(causeOf(new AgentAuthError('storage_failed', 'The storage failed.'))).toEqual({
      name: 'AgentAuthError',
      code: 'storage_failed',
      message: 'The storage failed.',
    })
  })
})

describe('errors that are not expected', () => {
  test('C-062 in a route: 500 that tells nothing, and an event with the route and the cause', async () => {
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
      expect(await codeOf(answered)).toEqual([500, 'request_failed'])
      const event = lastOf(rig, 'unexpected_error')
      expect(event).toMatchObject({ route, cause: { name: 'RangeError', stack: expect.any(Array) } })
      assertNoLeak(event)
      rig.events.length = 0
    }
  })

  test('C-062 an API that is not there: 502, and the event says why', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const rig = await rigOf()
    const browser = rig.browser()
    await browser.logIn()
    const refused = rig.browser(rig.another({ baseUrl: `http://127.0.0.1:${port}`, fetch: undefined }))
    refused.setCookie(...browser.session())
    expect(await codeOf(await refused.call())).toEqual([502, 'request_failed'])
    expect(lastOf(rig, 'proxied')).toMatchObject({
      status: 502,
      cause: { name: 'TypeError', cause: { code: 'ECONNREFUSED' } },
    })
  })

  test('C-062 an answer of the API that breaks off: an event with the route and the cause', async () => {
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
    await expect(answered.text()).rejects.toThrow('broke off')
    const event = lastOf(rig, 'proxy_interrupted')
    expect(event).toMatchObject({ route: `POST ${searchPath}`, cause: { code: 'ECONNRESET' } })
    assertNoLeak(event)
  })

  test('C-062 a browser that goes away is no interruption of the API', async () => {
    const rig = await rigOf({ api: () => new Response(new ReadableStream({ pull: () => new Promise(() => {}) })) })
    const browser = rig.browser()
    await browser.logIn()
    await (await browser.call()).body?.cancel()
    expect(lastOf(rig, 'proxy_interrupted')).toBeUndefined()
  })

  test('C-062 a revocation that fails: the event says why', async () => {
    const rig = await rigOf()
    const fetcher: typeof fetch = async (input, init) => {
      if (!String(input).endsWith('/revoke')) return rig.service.fetch(input as string, init)
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ENOTFOUND' }) })
    }
    const browser = rig.browser(rig.another({ fetch: fetcher, revocationEndpoint: 'https://auth.example.com/revoke' }))
    await browser.logIn()
    await browser.logOut()
    expect(lastOf(rig, 'logged_out')).toMatchObject({ revocation: 'failed', cause: { cause: { code: 'ENOTFOUND' } } })
  })

  type Operation = 'getItem' | 'setItem' | 'removeItem' | 'withLock'
  test.each<[Operation, 'sync' | 'async']>([
    ['getItem', 'sync'],
    ['getItem', 'async'],
    ['setItem', 'async'],
    ['removeItem', 'async'],
    ['withLock', 'async'],
  ])('C-056 C-062 a store whose %s fails (%s): an event with the operation and the cause', async (operation, how) => {
    const token = secret('in the store')
    let failing = false
    const rig = await rigOf()
    const fail = (): never => {
      throw Object.assign(new Error(`NOAUTH ${token}`), { code: 'NOAUTH' })
    }
    const sessions = new Proxy(rig.sessions, {
      get(target, name: Operation) {
        if (!failing || name !== operation) return target[name]
        return how === 'sync' ? fail : async () => fail()
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
      expect(await codeOf(await elsewhere.call())).toEqual([503, 'storage_failed'])
    }
    if (operation === 'removeItem') await browser.logOut()
    const event = lastOf(rig, 'storage_error')
    expect(event).toMatchObject({ operation, cause: { name: 'Error', code: 'NOAUTH' } })
    assertNoLeak(event)
  })
})
