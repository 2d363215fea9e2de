import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service, ServiceOptions } from '../../src/index.ts'
import * as services from '../../src/index.ts'
import { agentSearch, callApi, clientOf, login, refresh } from '../support/login.ts'
import { exchangeBytes, statusOf } from '../support/raw-socket.ts'
import { createService, startService } from '../support/start.ts'

let service: Service
beforeAll(async () => {
  service = await startService({ dev: 'on' })
})
afterAll(() => service.close())

/** The same service as a client in another process sees it. */
function overSockets(): Service {
  return { ...service, people: service.people, clients: service.clients, fetch: (input, init) => fetch(input, init) }
}

test('it listens on two free loopback ports', () => {
  for (const url of [service.authUrl, service.baseUrl]) expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
  expect(service.authUrl).not.toBe(service.baseUrl)
})

test.each(['Demo public', 'Demo confidential'])('%s logs in, calls and refreshes over sockets', async (name) => {
  const remote = overSockets()
  const client = clientOf(service, name)
  const tokens = await login(remote, { client })
  expect((await callApi(remote, { token: tokens.access_token, path: agentSearch, body: {} })).status).toBe(200)
  expect((await refresh(remote, client, tokens.refresh_token)).status).toBe(200)
})

test('the in-process fetch of a started service reaches the same data, and nothing else', async () => {
  const tokens = await login(service)
  expect((await callApi(overSockets(), { token: tokens.access_token, path: agentSearch, body: {} })).status).toBe(200)
  await expect(service.fetch('http://127.0.0.1:9/')).rejects.toThrow(TypeError)
  const aborted = service.fetch(service.authUrl, { signal: AbortSignal.abort(new Error('stop')) })
  await expect(aborted).rejects.toThrow('stop')
  const abort = new AbortController()
  const running = service.fetch(service.authUrl, { signal: abort.signal })
  abort.abort(new Error('late stop'))
  await expect(running).rejects.toThrow('late stop')
})

test('headers over 16 KiB are 431', async () => {
  const { host } = new URL(service.authUrl)
  const head = ['GET / HTTP/1.1', `Host: ${host}`, `X-Long: ${'x'.repeat(17 * 1_024)}`]
  expect(statusOf(await exchangeBytes(service.authUrl, head))).toBe(431)
})

test('two fresh starts have nothing in common', async () => {
  const other = await createService()
  expect(other.clients.map(({ kind }) => kind)).toContain('confidential')
  expect(other.people.length).toBeGreaterThan(1)
  for (const [index, client] of other.clients.entries()) {
    expect(client.clientId).not.toBe(service.clients[index]?.clientId)
    if (client.kind === 'confidential') expect(client.clientSecret).not.toBe(service.clients[index]?.clientSecret)
  }
  for (const [index, person] of other.people.entries())
    expect(person.password).not.toBe(service.people[index]?.password)
  await other.close()
})

test('closing frees the ports, also when asked twice', async () => {
  const own = await startService()
  await Promise.all([own.close(), own.close()])
  await expect(fetch(own.authUrl)).rejects.toThrow()
})

test('after close, requests in process reject and say why', async () => {
  for (const one of [await createService(), await startService()]) {
    await one.close()
    for (const url of [one.authUrl, `${one.baseUrl}${agentSearch}`])
      await expect(one.fetch(url)).rejects.toThrow(new TypeError('fetch failed: the service is closed'))
  }
})

test.each([null, 'memory', []])(
  'createService and startService say that %j is no object of options',
  async (options) => {
    for (const start of [services.createService, services.startService])
      await expect(async () => start(options as never)).rejects.toThrow(
        new TypeError('agent-service needs an object of options'),
      )
  },
)

test('a port that is taken is reported and leaves nothing listening', async () => {
  const basePort = Number(new URL(service.baseUrl).port)
  for (const option of ['authPort', 'basePort']) {
    const message = `port ${basePort} is in use: stop what listens there, or choose another with authPort and basePort (0 picks a free one)`
    await expect(startService({ [option]: basePort })).rejects.toMatchObject({
      code: 'EADDRINUSE',
      port: basePort,
      message,
      // What prints an error nobody caught prints this.
      stack: expect.stringContaining(message),
    })
  }
})

async function dev(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
  if (body === undefined) return fetch(`${service.authUrl}/_dev/${path}`, { headers })
  const content = { 'content-type': 'application/json', ...headers }
  return fetch(`${service.authUrl}/_dev/${path}`, { method: 'POST', headers: content, body: JSON.stringify(body) })
}

test.each([
  ['clock', { advanceMs: -1 }],
  ['clock', { advanceMs: 1.5 }],
  ['clock', 'x'],
  ['session-token', { email: 'nobody@demo.example' }],
  ['session-token', {}],
])('dev: POST %s %j is 422', async (path, body) => {
  expect((await dev(path, body)).status).toBe(422)
})

test.each(['session-token', 'clock', 'auto-approve', 'faults'])(
  'dev: POST %s of a body that it does not take is 422 and told how to send it',
  async (path) => {
    const type = 'application/json'
    for (const { size = 0, ...headers } of [
      {},
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': type, 'content-encoding': 'gzip' },
      { 'content-type': `${type}; charset=latin1` },
      { 'content-type': type, size: 16_385 },
    ]) {
      const init = { method: 'POST', headers, body: '{"advanceMs":1,"email":"ada@demo.example"}'.padEnd(size) }
      const answer = await fetch(`${service.authUrl}/_dev/${path}`, init)
      const error = `send JSON in UTF-8 of at most 16 KiB, uncompressed, with content-type: ${type}`
      expect({ status: answer.status, body: await answer.json() }).toEqual({ status: 422, body: { error } })
    }
    // Declared as JSON it is the content that is wrong.
    expect(await (await dev(path, {})).json()).toEqual({ error: expect.stringMatching(/^send \{|^effect: must be /) })
  },
)

test.each(['session-token', 'auto-approve'])('dev: POST %s says of an address that nobody has it', async (path) => {
  const answer = await dev(path, { email: 'nobody@demo.example' })
  expect({ status: answer.status, body: await answer.json() }).toEqual({
    status: 422,
    body: { error: expect.stringMatching(/^no account has this email address; there are ada@demo.example, /) },
  })
})

test.each([
  ['GET', 'reset', 405, 'use POST /_dev/reset', 'POST'],
  ['POST', 'state', 405, 'use GET /_dev/state', 'GET'],
  ['PUT', 'faults', 405, 'use POST or DELETE /_dev/faults', 'POST, DELETE'],
  ['POST', 'rest', 404, expect.stringMatching(/^there is no control \/_dev\/rest; use state, /), null],
  ['GET', 'a/b', 404, expect.stringMatching(/^there is no control here; use state, journal, reset, /), null],
])('dev: %s /_dev/%s is %i and says what to use', async (method, name, status, error, allow) => {
  const answer = await service.fetch(`${service.authUrl}/_dev/${name}`, { method })
  expect({ status: answer.status, allow: answer.headers.get('allow'), body: await answer.json() }).toEqual({
    status,
    allow,
    body: { error },
  })
})

test('dev: pages of other origins may not steer, and without dev nothing is there', async () => {
  for (const origin of ['https://evil.example', 'https://app.demo.example', 'null']) {
    expect((await dev('reset', {}, { origin })).status).toBe(403)
  }
  const plain = await createService()
  expect((await plain.fetch(`${plain.authUrl}/_dev/state`)).status).toBe(404)
  await plain.close()
})

test.each([
  'Forwarded',
  'Via',
  'X-Forwarded-For',
  'X-Forwarded-Host',
  'X-Forwarded-Proto',
  'X-Real-IP',
  'X-Client-IP',
  'X-Cluster-Client-IP',
  'X-Original-Forwarded-For',
  'True-Client-IP',
  'Incap-Client-IP',
  'Fly-Client-IP',
  'X-Azure-ClientIP',
  'X-Sucuri-ClientIP',
  'WL-Proxy-Client-IP',
  'CF-Connecting-IP',
  'CF-Connecting-IPv6',
  'X-NF-Client-Connection-IP',
  'X-Remote-Addr',
  'X-ProxyUser-IP',
  'X-AppEngine-User-IP',
  'X-Envoy-External-Address',
  'X-Envoy-Expected-Rq-Timeout-Ms',
  'X-Azure-SocketIP',
  'X-Amz-Cf-Id',
  'X-Amzn-Trace-Id',
  'X-Cloud-Trace-Context',
  'X-ARR-LOG-ID',
  'CF-Ray',
  'CDN-Loop',
  'X-Vercel-Id',
  'X-Akamai-Config-Log-Detail',
  'Fastly-FF',
  'Tailscale-User-Login',
  'X-Varnish',
  'X-Scheme',
  'Front-End-Https',
])('dev: a request that a proxy forwarded with %s is 403', async (name) => {
  const answer = await dev('state', undefined, { [name]: name === 'Via' ? '1.1 proxy' : '127.0.0.1' })
  expect({ status: answer.status, body: await answer.json() }).toEqual({
    status: 403,
    body: { error: 'loopback only' },
  })
  expect((await dev('session-token', { email: 'ada@demo.example' }, { [name]: '::1' })).status).toBe(403)
})

test('dev: no answer is kept, read as another type, or loaded by a page of another site', async () => {
  const answers = await Promise.all([
    dev('state', undefined),
    dev('journal', undefined),
    dev('session-token', { email: 'ada@demo.example' }),
    dev('session-token', { email: 'nobody' }),
    dev('state', undefined, { via: '1.1 proxy' }),
    dev('nothing', undefined),
  ])
  for (const { headers, url, status } of answers) {
    const seen = {
      cacheControl: headers.get('cache-control'),
      contentTypeOptions: headers.get('x-content-type-options'),
      resourcePolicy: headers.get('cross-origin-resource-policy'),
    }
    expect(seen, `${status} ${url}`).toEqual({
      cacheControl: 'no-store',
      contentTypeOptions: 'nosniff',
      resourcePolicy: 'same-origin',
    })
  }
})

test('no response of either host can be read as another type than it is declared as', async () => {
  const off = await createService({})
  const { access_token } = await login(off)
  const bearer = { authorization: `Bearer ${access_token}` }
  const [auth, base] = [off.authUrl, off.baseUrl]
  const answers = await Promise.all([
    ...[
      '/_dev',
      '/_dev/state',
      '/auth/v1/authorize',
      '/auth/v1/token',
      '/auth/v1/sign-in',
      '/auth/v1/clients',
      '/x',
    ].map((path) => off.fetch(auth + path)),
    off.fetch(`${auth}/auth/v1/token`, { method: 'POST' }),
    off.fetch(`${auth}/auth/v1/consent`, { method: 'POST' }),
    off.fetch(`${auth}/x`, { headers: { host: 'other.example' } }),
    ...['/openapi.json', '/x', agentSearch].map((path) => off.fetch(base + path)),
    off.fetch(`${base}/x`, { headers: { host: 'other.example' } }),
    off.fetch(`${base}/x`, { headers: bearer }),
    off.fetch(base + agentSearch, { headers: bearer }),
    off.fetch(base + agentSearch, {
      method: 'POST',
      headers: { ...bearer, 'content-type': 'application/json' },
      body: '{}',
    }),
    off.fetch(base + agentSearch, {
      method: 'POST',
      headers: { ...bearer, 'content-type': 'application/json' },
      body: '[',
    }),
  ])
  const statuses = answers.map(({ status }) => status)
  for (const status of [200, 400, 401, 404, 405, 415, 421, 422]) expect(statuses).toContain(status)
  for (const { headers, url, status } of answers) {
    expect(headers.get('x-content-type-options'), `${status} ${url}`).toBe('nosniff')
  }
  await off.close()
})

test.each(['http://127.0.0.1:4001', 'http://127.0.0.2:4001', 'http://localhost:4001', 'http://[::1]:4001'])(
  'dev controls are served under the loopback origin %s',
  async (authUrl) => {
    const local = await createService({ dev: 'on', authUrl })
    expect((await local.fetch(`${local.authUrl}/_dev/state`)).status).toBe(200)
    await local.close()
  },
)

test('a data file keeps tokens and people across a restart, readable by its owner only', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-'))
  const dataFile = join(folder, 'data.db')
  const urls = { authUrl: 'http://127.0.0.1:4101', baseUrl: 'http://127.0.0.1:4102', dataFile }
  const first = await createService(urls)
  const tokens = await login(first)
  const [person] = first.people
  await first.close()
  expect((await stat(dataFile)).mode & 0o777).toBe(0o600)
  // What was written last may still be in the log beside the file.
  const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name))))
  const bytes = Buffer.concat(files).toString('latin1')
  expect(bytes).toContain('scrypt$131072$8$1$')
  for (const secret of [person?.password ?? '-', tokens.access_token, tokens.refresh_token])
    expect(bytes).not.toContain(secret)
  const second = await createService(urls)
  expect(second.people.map(({ email, password }) => ({ email, password }))).toEqual(
    first.people.map(({ email }) => ({ email, password: '' })),
  )
  expect((await callApi(second, { token: tokens.access_token, path: agentSearch, body: {} })).status).toBe(200)
  expect((await refresh(second, clientOf(second, 'Demo public'), tokens.refresh_token)).status).toBe(200)
  if (person !== undefined) await login(second, { person })
  await second.close()
  await rm(folder, { recursive: true })
})

test.each([
  [{ codeLifeMs: 600_001 }, 'codeLifeMs'],
  [{ graceMs: -1 }, 'graceMs'],
  [{ accessTokenLifeMs: 3_600_001 }, 'accessTokenLifeMs'],
  [{ authUrl: 'ftp://x' }, 'authUrl'],
  [{ authUrl: 'https://x/?a' }, 'authUrl'],
  [{ baseUrl: 'https://user@x' }, 'baseUrl'],
  [{ baseUrl: 'http://127.0.0.1:4001' }, 'two different origins'],
  [{ allowedOrigins: ['*'] }, 'allowedOrigins'],
  [{ dev: true }, 'dev must be on or off'],
  [{ rotation: 'x' }, 'rotation must be rotate or none'],
  [{ dev: 'on', authUrl: 'https://auth.example' }, 'the dev controls need loopback origins'],
  [{ dev: 'on', baseUrl: 'http://192.0.2.7:4002' }, 'the dev controls need loopback origins'],
  [{ dev: 'on', baseUrl: 'http://127.0.0.1.example' }, 'the dev controls need loopback origins'],
  [{ redirectUris: 'http://127.0.0.1:8080/callback' }, 'redirectUris must be a list of URIs'],
  [{ allowedOrigins: 'http://127.0.0.1:8080' }, 'allowedOrigins must be a list of http or https origins'],
  [{ foo: 1 }, 'foo is not an option of agent-service; remove it, or correct its name. The README lists the options'],
  [{ 'postgresql://u:p@h': 1 }, /^one of the options is unknown; remove it, /],
])('%o is refused at start', async (options, message) => {
  await expect(createService(options as ServiceOptions)).rejects.toThrow(message)
})
