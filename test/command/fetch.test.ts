import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { UsageError } from '../../src/command/command-line.ts'
import { fetchPath } from '../../src/command/fetch.ts'
import { openStorage, profileOf, saveSettings } from '../../src/command/profile.ts'
import { failure, tokensWith } from '../support/token-flow.ts'

const body = 'text \u001b[31m and \u009b more \u202e\n\twith a line\n'
const baseUrl = 'https://api.example.com'
const requests: Request[] = []
const server = setupServer(
  http.all(`${baseUrl}/*`, ({ request }) => {
    requests.push(request)
    return HttpResponse.text(body, { status: Number(/\/status\/(\d+)$/.exec(request.url)?.[1] ?? 200) })
  }),
)
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterAll(() => server.close())
afterEach(() => vi.unstubAllEnvs())

/** A machine on which a user has signed in, or not. */
async function machine(user: 'signed in' | 'signed out' = 'signed in'): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-auth-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  vi.stubEnv('AGENT_AUTH_HOME', join(folder, 'home'))
  const storage = openStorage(process.env)
  const redirectUri = 'http://127.0.0.1/callback'
  const settings = { authUrl: baseUrl, baseUrl, clientId: 'app', redirectUri, scope: 'api.access' }
  await saveSettings(storage, 'default', settings)
  if (user === 'signed in') await profileOf(storage, 'default', settings).session.signIn(tokensWith())
}

const fetched = (...rest: string[]) => fetchPath({ name: 'fetch', profile: 'default', output: 'text', flags: {}, rest })

describe('the body of a response', () => {
  test('is printed as it is, and in a terminal with escapes for what the terminal obeys', async () => {
    await machine()
    const { isTTY } = process.stdout
    onTestFinished(() => {
      process.stdout.isTTY = isTTY
    })
    process.stdout.isTTY = false
    expect((await fetched('get', '/api/x')).text).toBe(body)
    process.stdout.isTTY = true
    expect((await fetched('GET', '/api/x')).text).toBe('text \\u001b[31m and \\u009b more \\u202e\n\twith a line\n')
  })

  test('is text in JSON if it is no JSON', async () => {
    await machine()
    expect(await fetched('GET', '/api/x')).toMatchObject({ exitCode: 0, json: { status: 200, body } })
  })
})

test.each([
  [['GET', '/status/404'], 'agent-auth: the API responded with 404; its paths begin with /api\n'],
  [['GET', '/api/status/404'], 'agent-auth: the API responded with 404\n'],
  [['POST', '/api/status/415'], "agent-auth: the API responded with 415; it needs a BODY, such as '{}'\n"],
  [['POST', '/api/status/415', '{}'], 'agent-auth: the API responded with 415\n'],
])('a response to %j says %j on stderr', async (call, text) => {
  await machine()
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => write.mockRestore())
  expect(await fetched(...call)).toMatchObject({ exitCode: 1 })
  expect(write.mock.calls).toEqual([[text]])
})

test.each([
  [['GET', '/api/x'], null],
  [['POST', '/api/x', '{}'], 'application/json'],
])('the request of %j has the header Accept: application/json, and the Content-Type %s', async (call, contentType) => {
  await machine()
  await fetched(...call)
  const { headers } = requests.at(-1) ?? {}
  expect([headers?.get('accept'), headers?.get('content-type')]).toEqual(['application/json', contentType])
})

test.each([['G-T'], [''], ['CONNECT'], ['TRACK']])('the method %j is refused', async (method) => {
  await machine()
  expect(await fetched(method, '/api/x').catch((error) => error)).toBeInstanceOf(UsageError)
})

test.each(['api/x', '', 'https://evil.example/', '//evil.example/', '\\\\evil.example'])(
  'the path %j is refused',
  async (path) => {
    await machine()
    expect(await fetched('GET', path).catch((error) => error)).toBeInstanceOf(UsageError)
  },
)

test('a request of a user who is signed out is not sent', async () => {
  await machine('signed out')
  expect(await failure(fetched('GET', '/api/x'))).toMatchObject({ code: 'login_required' })
})
