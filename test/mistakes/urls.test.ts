import { expect, it } from 'vitest'
import { createAgentApi } from '../../src/api/index.ts'
import { createBearerFetch } from '../../src/bearer.ts'
import { configWith, failure, scriptedFetch } from '../support/token-flow.ts'
import { backendWith, invalid } from '../support/wrong-calls.ts'

// Service URLs that a new user confuses. Each message names the option and what to do.

it.each(['https://api.example.com/api', 'https://api.example.com/v2/api/'])(
  'baseUrl %s: the paths of the API begin with /api, so that none could be found',
  async (baseUrl) => {
    const what = 'baseUrl must not end in /api, which its paths begin with'
    expect(await failure(() => createAgentApi({ baseUrl, fetch }))).toMatchObject(invalid(what))
    const proxy = ['POST /api/parent_agents/search']
    expect(await failure(() => backendWith({ baseUrl, proxy }))).toMatchObject(invalid(what))
    expect(() => backendWith({ baseUrl, proxy: ['POST /parent_agents/search'] })).not.toThrow()
    expect(() => createBearerFetch('token', { baseUrl })).not.toThrow()
  },
)

it.each([
  ['/api/parent_agents/search', 'https://api.example.com/api/parent_agents/search', 'Bearer token'],
  ['parent_agents/search', 'https://api.example.com/api/parent_agents/search', 'Bearer token'],
  ['https://api.example.com/api/api/x', 'https://api.example.com/api/api/x', 'Bearer token'],
])('baseUrl ends in /api: fetch(%j) goes to %s', async (path, url, authorization) => {
  const { fetch, calls } = scriptedFetch(new Response())
  await createBearerFetch('token', { baseUrl: 'https://api.example.com/api', fetch })(path)
  expect(
    calls.map(({ url, init }) => ({ url, authorization: new Headers(init.headers).get('authorization') })),
  ).toEqual([{ url, authorization }])
})

it.each(['/auth/v1', '/auth/v1/token', '/tenant/auth/v1/authorize'])(
  'authUrl with the path %s of an endpoint: the endpoints would be below it',
  async (path) => {
    const authUrl = `https://auth.example.com${path}`
    const what = 'authUrl must not have the path /auth/v1'
    expect(await failure(() => configWith({ authUrl }))).toMatchObject(invalid(what))
  },
)

it.each(['https://token', 'https://auth.example.com/tenant', 'https://auth.example.com/oauth2'])(
  'authUrl %s is fine',
  (authUrl) => {
    expect(() => configWith({ authUrl })).not.toThrow()
  },
)

it.each([
  ['redirectUri', 'without user info or fragment'],
  ['baseUrl', 'without user info, query or fragment'],
])('the message about %s names only what it refuses', async (name, what) => {
  expect(await failure(() => configWith({ [name]: '/callback' }))).toMatchObject(
    invalid(`${name} must be an https URL, or http on loopback, ${what}`),
  )
})

it.each(['http://localhost:4002', 'http://[::1]:4002'])(
  'a bearer fetch with baseUrl http://127.0.0.1:4002 sends no token to %s',
  async (other) => {
    const { fetch, calls } = scriptedFetch(new Response(null, { status: 401 }))
    const url = `${other}/api/llm_models/search`
    await createBearerFetch('token', { baseUrl: 'http://127.0.0.1:4002', fetch })(url)
    expect(calls.map(({ url, init }) => ({ url, headers: init?.headers }))).toStrictEqual([{ url, headers: undefined }])
    const strict = createBearerFetch('token', { baseUrl: 'http://127.0.0.1:4002', fetch, elsewhere: 'reject' })
    expect(await failure(strict(url))).toMatchObject({ code: 'origin_forbidden' })
  },
)
