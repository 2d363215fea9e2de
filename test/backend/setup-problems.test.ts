// An app that is reached or mounted in another way than its redirect URI says.
import { createServer, type RequestListener } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { toFastifyPlugin, toNodeHandler } from 'agent-auth/backend/node'
import express from 'express'
import { afterEach, expect, test } from 'vitest'
import type { BackendRig } from '../support/backend-rig.ts'
import { listen } from '../support/listen.ts'
import { sendPlain } from '../support/plain-http.ts'
import { rigOf } from '../support/rig-of.ts'
import { failure } from '../support/token-flow.ts'
import { invalid } from '../support/wrong-calls.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const redirectUri = 'http://127.0.0.1:3000/auth/callback'

const problem = (name: 'host' | 'path', message: string): object => ({
  type: 'setup_problem',
  problem: name,
  cause: { name: 'AgentAuthError', code: 'config_invalid', message },
})

const problemsOf = ({ events }: BackendRig): unknown[] => events.filter(({ type }) => type === 'setup_problem')

/** An app on a real port. */
async function listening(app: RequestListener): Promise<string> {
  const server = createServer(app)
  closing.push(() => server.close())
  return `http://127.0.0.1:${await listen(server)}`
}

test('a login at another port than that of the redirect URI is one event that names both', async () => {
  const rig = await rigOf({ backend: { redirectUri } })
  const origin = await listening(express().use(toNodeHandler(rig.backend)))
  for (let login = 0; login < 2; login += 1)
    expect((await sendPlain(new Request(`${origin}/auth/login`))).status).toBe(302)
  expect(problemsOf(rig)).toEqual([
    problem(
      'host',
      `The login began at ${origin}, but redirectUri is at http://127.0.0.1:3000. Serve the app there, or register and set a callback at ${origin}.`,
    ),
  ])
})

test.each<[what: string, at: string, headers?: Record<string, string>, redirectUri?: string]>([
  ['at the host of the redirect URI', 'http://127.0.0.1:3000'],
  ['whose Host header has it, behind a server with another URL', 'http://localhost:9', { host: '127.0.0.1:3000' }],
  [
    'from a page of the redirect URI, behind a development server',
    'http://127.0.0.1:9',
    { referer: 'http://127.0.0.1:3000/x' },
  ],
  ['at a host that is not on loopback', 'http://evil.example'],
  ['whose Host header is no host', 'http://127.0.0.1:3000', { host: 'a b' }],
  ['of an app that is not on loopback', 'http://127.0.0.1:9', {}, 'https://app.demo.example/auth/callback'],
])('a login %s is no setup problem', async (_, at, headers = {}, uri = redirectUri) => {
  const rig = await rigOf({ backend: { redirectUri: uri } })
  const answered = await rig.backend.handle(new Request(`${at}/auth/login`, { headers }))
  expect({ status: answered?.status, problems: problemsOf(rig) }).toEqual({ status: 302, problems: [] })
})

test('a bridge under a mount path of Express, which cuts the path: one event says which path was expected', async () => {
  const rig = await rigOf({ backend: { redirectUri } })
  const bridge = getRequestListener(
    async (request) => (await rig.backend.handle(request)) ?? new Response(null, { status: 404 }),
    { overrideGlobalObjects: false },
  )
  const origin = await listening(express().use('/auth', (request, response) => void bridge(request, response)))
  for (const path of ['/auth/login?return_to=/', '/auth/callback?code=c&state=s'])
    expect((await sendPlain(new Request(origin + path))).status).toBe(404)
  expect(problemsOf(rig)).toEqual([
    problem(
      'path',
      '/login was requested, but the backend serves /auth/login. Pass the whole path on, or use toNodeHandler.',
    ),
  ])
})

test.each<[what: string, path: string, headers?: Record<string, string>, redirectUri?: string]>([
  ['a page of the app', '/login'],
  ['another path with a return URL', '/welcome?return_to=/'],
  ['the root, with a state', '/?state=s'],
  ['an app that is not on loopback', '/login?return_to=/', {}, 'https://app.demo.example/auth/callback'],
])('%s is no setup problem', async (_, path, headers = {}, uri = redirectUri) => {
  const rig = await rigOf({ backend: { redirectUri: uri } })
  expect(await rig.backend.handle(new Request(`http://127.0.0.1:3000${path}`, { headers }))).toBe(null)
  expect(problemsOf(rig)).toEqual([])
})

test('toNodeHandler in Fastify and toFastifyPlugin outside of it are config_invalid, and name the other', async () => {
  const { backend } = await rigOf()
  expect(() => toNodeHandler(backend)({} as never, {} as never)).toThrow(/In Fastify use app\.register/)
  await expect(toFastifyPlugin(backend)({} as never)).rejects.toThrow(/use toNodeHandler\(backend\)/)
})

test('endSessionsOf refuses the key of a session and names endSession', async () => {
  const rig = await rigOf({ backend: { redirectUri } })
  const browser = rig.browser()
  await browser.logIn()
  const session = await rig.backend.getSession(browser.request('/'))
  if (session.status === 'signed-out') throw new Error('No user is signed in.')
  expect(await failure(rig.backend.endSessionsOf(session.key))).toMatchObject(
    invalid('subject must not be session.key. Pass session.claims?.subject, or call endSession(key)'),
  )
  expect(rig.events.filter(({ type }) => type === 'sessions_ended')).toEqual([])
})
