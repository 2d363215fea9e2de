// Requests that are not those of the Fetch API: src/backend/sessions/get-session.ts.
import { afterEach, expect, test } from 'vitest'
import { type BackendRig, backendRig } from '../support/backend-rig.ts'
import { failure } from '../support/token-flow.ts'

let rig: BackendRig
afterEach(() => rig.close())

/** Requests of node:http, Express and Fastify have a path for a URL and a plain object for headers. */
const others: readonly [string, unknown][] = [
  ['a request of Express', { method: 'GET', url: '/auth/login', headers: { cookie: 'a=b' } }],
  ['no request', undefined],
  ['a URL', 'http://127.0.0.1:3000/auth/login'],
]

test.each(others)('C-127 getSession of %s: config_invalid names what it needs', async (_, request) => {
  rig = await backendRig()
  expect(await failure(() => rig.backend.getSession(request as Request))).toMatchObject({
    code: 'config_invalid',
    message:
      'Configuration: getSession needs a Request of the Fetch API. For node:http, Express or Fastify, see docs/backend.md.',
  })
})

test.each(others)('C-127 handle of %s does not reject: 500 config_invalid names what it needs', async (_, request) => {
  rig = await backendRig()
  const response = await rig.backend.handle(request as Request)
  expect(response?.status).toBe(500)
  expect(await response?.json()).toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('handle needs a Request of the Fetch API'),
    retryable: false,
  })
})

test('C-127 getSession takes the Headers of a request alone', async () => {
  rig = await backendRig()
  expect(await rig.backend.getSession({ headers: new Headers() })).toEqual({ status: 'signed-out' })
})
