import {
  createAuthConfig,
  createBearerFetch,
  createSession,
  exchangeCode,
  memoryStorage,
  readCallback,
  startLogin,
} from 'agent-auth'
import { createAgentApi, isAgentApiError } from 'agent-auth/api'
import { createBackend } from 'agent-auth/backend'
import { createBrowserAuth } from 'agent-auth/browser'
import { expect, test } from 'vitest'
import { reactive, ref } from 'vue'
import { plainOptions as options } from '../support/token-flow.ts'

const now = Date.now()
const tokens = { accessToken: 'a', refreshToken: 'r', obtainedAtMs: now, expiresAtMs: now + 3_600_000 }

const { baseUrl } = options

/** Objects of the platform, such as a URL, stay as they are, as with Vue. */
const wrapped = /^\[object (Object|Array|Error)]$/

/** Wraps as the reactive objects of Vue, Pinia, Alpine and Valtio do: each object behind a member is a Proxy, and nothing is bound. */
function deep<T extends object>(target: T): T {
  return new Proxy(target, {
    get(of, key, receiver) {
      const value: unknown = Reflect.get(of, key, receiver)
      const own = Reflect.getOwnPropertyDescriptor(of, key)
      const isFixed = own && !own.configurable && !own.writable
      return wrapped.test(Object.prototype.toString.call(value)) && !isFixed ? deep(value as object) : value
    },
  })
}

const shallow = <T extends object>(target: T): T => new Proxy(target, {})

test.each<[how: string, wrap: <T extends object>(target: T) => T]>([
  ['shallow', shallow],
  ['deep', deep],
  ['deep, of a frozen object', (target) => deep(Object.freeze(target))],
  ['reactive() of Vue', (target) => reactive(target) as typeof target],
  ['ref() of Vue, in which Pinia keeps its state', (target) => ref({ target }).value.target as typeof target],
])('every public object works through a Proxy: %s', async (_, wrap) => {
  const refusing = async (): Promise<Response> =>
    Response.json({ success: false, error_type: 'x' }, { status: 400, headers: { 'x-request-id': 'one' } })
  const config = wrap(createAuthConfig({ ...options, fetch: async () => Response.json({ access_token: 'b' }) }))

  const session = wrap(createSession(config))
  await session.signIn(wrap({ ...tokens }))
  expect((await session.ready()).status).toBe('signed-in')
  expect(session.state).toMatchObject({ status: 'signed-in' })
  expect(session.claims).toBeUndefined()
  expect(await session.getAccessToken({ forceRefresh: true })).toBe('b')
  await session.resume()
  session.subscribe(() => {})()

  const login = wrap(await startLogin(config))
  const callback = `${options.redirectUri}?code=c&state=${login.url.searchParams.get('state')}`
  expect((await exchangeCode(config, readCallback(login.pending, callback))).accessToken).toBe('b')

  const api = wrap(createAgentApi({ baseUrl, fetch: createBearerFetch(session, { baseUrl, fetch: refusing }) }))
  const failure: unknown = await api.parentAgents.search().catch((error: unknown) => error)
  const error = wrap(failure as Error)
  if (!isAgentApiError(error)) throw error
  const { code, errorType, requestId, faults, response, body } = error
  expect({ code, errorType, requestId, faults: [...faults], status: response?.status, body: typeof body }).toEqual({
    code: 'request_failed',
    errorType: 'x',
    requestId: 'one',
    faults: [],
    status: 400,
    body: 'string',
  })
  expect(error.fieldErrors()).toEqual({})

  const auth = wrap(createBrowserAuth({ ...options, storage: memoryStorage() }))
  await auth.session.signIn(tokens)
  expect([auth.session.state.status, auth.session.claims]).toEqual(['signed-in', undefined])
  expect(auth.isCallbackUrl(callback)).toBe(false)
  await auth.signOut()
  auth.close()

  const secrets = ['a secret of at least thirty-two characters']
  const redirectUri = 'https://app.example.com/auth/callback'
  const backend = wrap(createBackend({ ...options, redirectUri, secrets, sessions: memoryStorage() }))
  const request = new Request('https://app.example.com/auth/session')
  expect((await backend.getSession(request)).status).toBe('signed-out')
  expect((await backend.handle(request))?.status).toBe(200)

  await session.signOut()
  expect(session.state.status).toBe('signed-out')
})
