import { createAuthConfig } from 'agent-auth'
import { expect, test } from 'vitest'
import { type Check, checkService } from '../../src/command/check-service.ts'

const [authUrl, baseUrl] = ['https://auth.example.com', 'https://api.example.com']

type Answer = () => Response | Promise<Response>

/** What a service that is right responds with. */
const right = {
  authorize: () => new Response(null, { status: 302, headers: { location: 'https://auth.example.com/login' } }),
  token: () => Response.json({ error: 'invalid_grant' }, { status: 400 }),
  search: () => Response.json({ success: false, data: null }, { status: 401 }),
  preflight: (): Response => new Response(null, { status: 204, headers: { 'access-control-allow-origin': '*' } }),
} satisfies Record<string, Answer>

interface Checks {
  /** Causes by check. */
  readonly bad: Record<string, string | undefined>
  readonly skipped: Record<string, string | undefined>
}

/** Returns what the checks say of a service that is right but for these answers. */
async function checksOf(answers: Partial<Record<keyof typeof right, Answer>>, origin?: string): Promise<Checks> {
  const of = { ...right, ...answers }
  const config = createAuthConfig({
    authUrl,
    baseUrl,
    clientId: 'app',
    redirectUri: 'http://127.0.0.1/callback',
    async fetch(input, init) {
      const isApi = String(input).startsWith(baseUrl)
      if (isApi) return init?.method === 'OPTIONS' ? of.preflight() : of.search()
      return init?.method === 'POST' ? of.token() : of.authorize()
    },
  })
  const checks = await checkService(config, { origin })
  const by = (member: 'cause' | 'skipped') =>
    Object.fromEntries(checks.filter((one: Check) => one[member]).map((one) => [one.check, one[member]]))
  return { bad: by('cause'), skipped: by('skipped') }
}

test('doctor finds a token endpoint that took a code which does not exist', async () => {
  const { bad } = await checksOf({ token: () => Response.json({ access_token: 'a', refresh_token: 'b' }) })
  expect(bad).toEqual({ 'authorization server': expect.stringContaining('token endpoint') })
})

test.each([
  ['invalid_client with status 400', Response.json({ error: 'invalid_client' }, { status: 400 })],
  ['another error with status 401', Response.json({ error: 'unauthorized' }, { status: 401 })],
])('doctor reads %s as an unknown client, without which it cannot check the rest', async (_, response) => {
  const authorize = (): Response => new Response('', { status: 400 })
  const { bad, skipped } = await checksOf({ token: () => response, authorize })
  expect(bad).toEqual({ client: expect.stringContaining('unknown') })
  expect(skipped).toEqual({ login: 'no client' })
})

test.each([
  [undefined, ['http://127.0.0.1/callback?a=b']],
  [[0], ['http://127.0.0.1/callback?a=b']],
  [
    [80, 3000],
    ['http://127.0.0.1:80/callback?a=b', 'http://127.0.0.1:3000/callback?a=b'],
  ],
])('with the ports %j, doctor asks for the redirect URIs %j, as a login does', async (ports, expected) => {
  const asked: (string | null)[] = []
  const config = createAuthConfig({
    authUrl,
    baseUrl,
    clientId: 'app',
    redirectUri: 'http://127.0.0.1/callback?a=b',
    async fetch(input, init) {
      const { origin, searchParams } = new URL(String(input))
      if (origin === baseUrl) return right.search()
      if (init?.method === 'POST') return right.token()
      asked.push(searchParams.get('redirect_uri'))
      return searchParams.get('redirect_uri')?.includes(':3000/')
        ? new Response('', { status: 400 })
        : right.authorize()
    },
  })
  const checks = await checkService(config, { ports })
  // The probes are sent side by side.
  expect(asked.toSorted()).toEqual(expected.toSorted())
  const { fix } = checks.find(({ check }) => check === 'login') ?? {}
  const advice = `Register ${expected[1]} for the client, or pass the registered one with --redirect-uri and --ports.`
  expect(fix).toBe(ports?.includes(3000) ? advice : undefined)
})

test.each<[what: string, search: Answer]>([
  ['a page', () => new Response('<html></html>')],
  ['null', () => Response.json(null)],
  ['text', () => Response.json('success')],
  ['another object', () => Response.json({ ok: true })],
  ['an envelope with status 404', () => Response.json({ success: false }, { status: 404 })],
])('doctor does not take %s for the API, and then does not check CORS', async (_, search) => {
  const preflight = (): Response => new Response('')
  const { bad } = await checksOf({ search, preflight }, 'https://app.example.com')
  expect(bad).toEqual({ API: expect.stringContaining('is not the API') })
})

/** Probes a service whose responses are all an empty object. */
async function probeWith(onRequest: (...request: Parameters<typeof fetch>) => void): Promise<void> {
  const config = createAuthConfig({
    authUrl,
    baseUrl,
    clientId: 'app',
    redirectUri: 'http://127.0.0.1/callback',
    async fetch(...request) {
      onRequest(...request)
      return Response.json({})
    },
  })
  await checkService(config, { origin: 'https://app.example.com' })
}

test('doctor asks the API for a search without a token, and whether a page may send one with it', async () => {
  const sent: unknown[] = []
  await probeWith((input, { method, headers, body } = {}) => {
    if (String(input) === `${baseUrl}/api/llm_models/search`) sent.push({ method, headers, body })
  })
  const preflight = {
    origin: 'https://app.example.com',
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type',
  }
  // The probes are sent side by side.
  expect(sent).toHaveLength(2)
  expect(sent).toEqual(
    expect.arrayContaining([
      { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' },
      { method: 'OPTIONS', headers: preflight, body: undefined },
    ]),
  )
})
