import { createAuthConfig } from 'agent-auth'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Check, checkService } from '../../src/command/check-service.ts'

const [authUrl, baseUrl, origin] = ['https://auth.example.com', 'https://api.example.com', 'https://app.example.com']
const authorizeUrl = `${authUrl}/auth/v1/authorize`
const tokenUrl = `${authUrl}/auth/v1/token`
const searchUrl = `${baseUrl}/api/llm_models/search`
const config = (redirectUri = 'http://127.0.0.1/callback') =>
  createAuthConfig({ authUrl, baseUrl, clientId: 'app', redirectUri })

/** A service that is right. */
const server = setupServer(
  http.get(authorizeUrl, () => HttpResponse.redirect(`${authUrl}/login`)),
  http.post(tokenUrl, () => HttpResponse.json({ error: 'invalid_grant' }, { status: 400 })),
  http.post(searchUrl, () => HttpResponse.json({ success: false, data: null }, { status: 401 })),
  http.options(searchUrl, () => new HttpResponse(null, { headers: { 'access-control-allow-origin': '*' } })),
)
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => {
  server.resetHandlers()
  server.events.removeAllListeners()
})
afterAll(() => server.close())

/** Returns the causes, and the reasons why a check was not made, by check. */
async function findings(pageOrigin?: string) {
  const checks = await checkService(config(), { origin: pageOrigin })
  const by = (member: 'cause' | 'skipped') =>
    Object.fromEntries(checks.filter((one: Check) => one[member]).map((one) => [one.check, one[member]]))
  return { bad: by('cause'), skipped: by('skipped') }
}

test('doctor finds a token endpoint that took a refresh token which does not exist', async () => {
  server.use(http.post(tokenUrl, () => HttpResponse.json({ access_token: 'a', refresh_token: 'b' })))
  expect((await findings()).bad).toEqual({ 'authorization server': expect.stringContaining('token endpoint') })
})

test.each([
  ['invalid_client', 400],
  ['unauthorized', 401],
])(
  'doctor reads %s with status %i as an unknown client, without which it cannot check the rest',
  async (error, status) => {
    server.use(
      http.post(tokenUrl, () => HttpResponse.json({ error }, { status })),
      http.get(authorizeUrl, () => new HttpResponse('', { status: 400 })),
    )
    expect(await findings()).toEqual({
      bad: { client: expect.stringContaining('unknown') },
      skipped: { login: 'no client' },
    })
  },
)

test.each([
  [undefined, ['http://127.0.0.1/callback?a=b']],
  [[0], ['http://127.0.0.1/callback?a=b']],
  [
    [80, 3000],
    ['http://127.0.0.1:80/callback?a=b', 'http://127.0.0.1:3000/callback?a=b'],
  ],
])('with the ports %j, doctor asks for the redirect URIs %j, as a login does', async (ports, expected) => {
  const asked: (string | null)[] = []
  server.use(
    http.get(authorizeUrl, ({ request }) => {
      const redirectUri = new URL(request.url).searchParams.get('redirect_uri')
      asked.push(redirectUri)
      return redirectUri?.includes(':3000/') ? new HttpResponse('', { status: 400 }) : undefined
    }),
  )
  const checks = await checkService(config('http://127.0.0.1/callback?a=b'), { ports })
  // The probes are sent side by side.
  expect(asked.toSorted()).toEqual(expected.toSorted())
  const { fix } = checks.find(({ check }) => check === 'login') ?? {}
  const advice = `Register ${expected[1]} for the client, or pass the registered one with --redirect-uri and --ports.`
  expect(fix).toBe(ports?.includes(3000) ? advice : undefined)
})

test.each([
  ['a page', '<html></html>', 200],
  ['null', 'null', 200],
  ['text', '"success"', 200],
  ['another object', '{"ok":true}', 200],
  ['an envelope with status 404', '{"success":false}', 404],
])('doctor does not take %s for the API, and then does not check CORS', async (_, body, status) => {
  server.use(
    http.post(searchUrl, () => HttpResponse.text(body, { status })),
    http.options(searchUrl, () => new HttpResponse('')),
  )
  expect((await findings(origin)).bad).toEqual({ API: expect.stringContaining('is not the API') })
})

test('doctor asks the API for a search without a token, and whether a page may send one with it', async () => {
  const sent: unknown[] = []
  server.events.on('request:start', async ({ request: { method, url, headers, body } }) => {
    if (url === searchUrl) sent.push({ method, headers: Object.fromEntries(headers), hasBody: body !== null })
  })
  await checkService(config(), { origin })
  const preflight = {
    origin,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type',
  }
  // The probes are sent side by side.
  expect(sent).toHaveLength(2)
  expect(sent).toEqual(
    expect.arrayContaining([
      { method: 'POST', headers: { 'content-type': 'application/json' }, hasBody: true },
      { method: 'OPTIONS', headers: preflight, hasBody: false },
    ]),
  )
})
