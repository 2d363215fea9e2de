// Requests that are not those of the Fetch API.
import { afterEach, expect, test } from 'vitest'
import { type BackendRig, backendRig } from '../support/backend-rig.ts'
import { failure } from '../support/token-flow.ts'

let rig: BackendRig
afterEach(() => rig.close())

/** A request of node:http, Express or Fastify has a path for a URL and a plain object for headers. */
const ofNode = { method: 'GET', url: '/auth/login', headers: { cookie: 'a=b' } }

test.each([
  ['no request', undefined],
  ['a URL', 'http://127.0.0.1:3000/auth/login'],
  ['an object without headers', { cookie: 'a=b' }],
])('getSession of %s: config_invalid names what it needs', async (_, request) => {
  rig = await backendRig()
  expect(await failure(() => rig.backend.getSession(request as unknown as Request))).toMatchObject({
    code: 'config_invalid',
    message: 'Configuration: getSession needs a request with headers, or { key }.',
  })
})

test.each([
  ['a request of Express', ofNode],
  ['no request', undefined],
  ['a URL', 'http://127.0.0.1:3000/auth/login'],
])('handle of %s rejects with config_invalid and names what it needs', async (_, request) => {
  rig = await backendRig()
  expect(await failure(rig.backend.handle(request as unknown as Request))).toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/handle needs a Request of the Fetch API.* use agent-auth\/backend\/node/),
  })
})

test('getSession takes the request objects of Node, Express and Fastify', async () => {
  rig = await backendRig()
  const browser = rig.browser()
  await browser.logIn()
  const headers = { host: 'app', cookie: browser.cookieHeader() }
  expect((await rig.backend.getSession({ ...ofNode, headers })).status).toBe('signed-in')
  expect(await rig.backend.getSession(ofNode)).toEqual({ signedIn: false, status: 'signed-out' })
  expect(await rig.backend.getSession({ headers: {} })).toEqual({ signedIn: false, status: 'signed-out' })
  expect(await rig.backend.getSession({ headers: Object.create(headers) })).toEqual({
    signedIn: false,
    status: 'signed-out',
  })
})
