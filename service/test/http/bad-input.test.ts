import { connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { processorMs } from '../../../test/support/processor-ms.ts'
import type { Service } from '../../src/index.ts'
import { agentSearch, callApi, clientOf, login, refresh } from '../support/login.ts'
import { exchangeBytes, statusOf } from '../support/raw-socket.ts'
import { startService } from '../support/start.ts'

// Over real sockets, because fetch would not send most of it.

let service: Service
let token: string
beforeAll(async () => {
  service = await startService({ dev: 'on' })
  token = await service.dev.mintSessionToken('ada@demo.example')
  // The first call loads the modules of the API, which takes processor time of its own.
  await callApi(service, { token, path: agentSearch, body: {} })
})
afterAll(() => service.close())

/** Whatever was sent, the process is up and answers others. */
afterEach(async () => {
  const answer = await fetch(service.baseUrl + agentSearch, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"limit":1}',
  })
  expect(answer.status).toBe(200)
  expect((await fetch(`${service.authUrl}/_dev/state`)).status).toBe(200)
})

function hostOf(origin: string): string {
  return new URL(origin).host
}

interface ApiRequest {
  path?: string
  body?: string | Uint8Array
  type?: string
  headers?: string[]
  length?: boolean
}

function postApi({
  path = agentSearch,
  body = '{}',
  type = 'application/json',
  headers = [],
  length = true,
}: ApiRequest) {
  const size = Buffer.from(body).length
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${hostOf(service.baseUrl)}`,
    `Authorization: Bearer ${token}`,
    `Content-Type: ${type}`,
    ...(length ? [`Content-Length: ${size}`] : []),
    ...headers,
  ]
  return exchangeBytes(service.baseUrl, head, body)
}

const nested = (depth: number, innermost: string) => '['.repeat(depth) + innermost + ']'.repeat(depth)
const groups = (depth: number): string =>
  `{"filters":[${'{"operator":"and","filters":['.repeat(depth)}${']}'.repeat(depth)}]}`
const wide = (count: number): string =>
  `{"filters":[${Array.from({ length: count }, () => '{"operator":"or","filters":[]}').join(',')}]}`

test.each([
  ['an array', '[]', 422],
  ['a number', '7', 422],
  ['a text', '"x"', 422],
  ['true', 'true', 422],
  ['null', 'null', 422],
  ['nothing', '', 422],
  ['white space', '   ', 422],
  ['half of it', '{"limit":', 422],
  ['two of it', '{}{}', 422],
  ['a comment', '{/**/}', 422],
  ['single quotes', "{'limit':1}", 422],
  ['a trailing comma', '{"limit":1,}', 422],
  ['NaN', '{"limit":NaN}', 422],
  ['depth 100,000 in a member that is ignored', `{"x":${nested(100_000, '')}}`, 200],
  ['depth 100,000', nested(100_000, ''), 422],
  ['depth 100,000, unfinished', '['.repeat(100_000), 422],
  ['1,000 groups, each in the next', groups(10_00), 422],
  ['1,000 groups side by side', wide(1_000), 422],
  ['4 groups, each in the next', groups(4), 422],
  ['51 filters', wide(51), 422],
  ['a lone surrogate', '{"search_value":"\\ud800"}', 422],
  ['a lone surrogate in a filter', '{"filters":[{"column":"agent_name","operator":"equals","value":"\\udc00"}]}', 422],
  ['a lone surrogate as a column', '{"sort":{"column":"\\ud800"}}', 422],
  ['a surrogate in bytes', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 422],
  ['NUL as an escape', '{"search_value":"\\u0000"}', 422],
  ['NUL as a byte', '{"search_value":"\0"}', 422],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0xc0, 0x80, 0x7d]), 422],
  ['a byte order mark', '\ufeff{}', 422],
  ['UTF-16', Buffer.from('{}', 'utf16le'), 422],
  ['__proto__ as a column', '{"sort":{"column":"__proto__"}}', 422],
  ['constructor as a column', '{"filters":[{"column":"constructor","operator":"equals","value":1}]}', 422],
  ['toString as an operator', '{"filters":[{"column":"id","operator":"toString","value":1}]}', 422],
  ['a __proto__ member', '{"__proto__":{"limit":0,"tenant":"other"},"limit":1}', 200],
  ['a __proto__ filter', '{"filters":[{"__proto__":{"column":"id","operator":"equals","value":1}}]}', 422],
  ['257 KiB', ' '.repeat(257 * 1_024), 413],
  ['a number of 200,000 digits', `{"limit":${'9'.repeat(200_000)}}`, 422],
  ['a text of 200,000 characters', `{"search_value":"${'x'.repeat(200_000)}"}`, 422],
  ['20,000 members', `{${Array.from({ length: 20_000 }, (_, n) => `"m${n}":0`).join(',')}}`, 200],
  ['3,000 equal members', `{${Array.from({ length: 3_000 }, () => '"limit":1').join(',')}}`, 200],
])('a body of %s (%#)', async (_, body, status) => {
  let answer = ''
  const tookMs = await processorMs(async () => {
    answer = await postApi({ body })
  })
  expect(statusOf(answer), answer.slice(0, 400)).toBe(status)
  if (status === 422) expect(answer).toContain('{"detail":[{"loc":["body"')
  // Large or deep costs no more than reading it.
  expect(tookMs).toBeLessThan(3_000)
})

test('257 KiB without a declared length are 413 as well, and the service does not wait for the rest', async () => {
  const chunk = `${(64 * 1_024).toString(16)}\r\n${' '.repeat(64 * 1_024)}\r\n`
  const head = { headers: ['Transfer-Encoding: chunked'], length: false }
  expect(statusOf(await postApi({ ...head, body: `${chunk.repeat(5)}0\r\n\r\n` }))).toBe(413)
  expect(statusOf(await postApi({ ...head, body: chunk.repeat(5) }))).toBe(413)
})

/** Of a request that is whole: without a fault it is answered with 200. */
const typed = 'Content-Type: application/json'
const whole = [typed, 'Content-Length: 2']
const chunks = '2\r\n{}\r\n0\r\n\r\n'

test.each<[fault: string, headers: string[], status: number, body?: string]>([
  ['nothing wrong', whole, 200],
  ['a second Host header', [...whole, 'Host: evil.example'], 400],
  ['two Content-Length headers', [...whole, 'Content-Length: 3'], 400],
  ['lengths in one header', [typed, 'Content-Length: 2, 2'], 400],
  ['a length and chunks', [...whole, 'Transfer-Encoding: chunked'], 400, chunks],
  ['an unknown encoding of the transfer', [typed, 'Transfer-Encoding: xchunked'], 400, chunks],
  ['a negative length', [typed, 'Content-Length: -2'], 400],
  ['a header folded over two lines', [...whole, 'X-A: b\r\n c'], 400],
  ['a header without a colon', [...whole, 'nonsense'], 400],
  ['a space before the colon', [typed, 'Content-Length : 2'], 400],
  ['NUL in a header', [...whole, 'X-A: a\0b'], 400],
  ['a bare line feed', [...whole, 'X-A: a\nX-B: b'], 400],
])('a request with %s is read as a whole or refused', async (_, headers, status, body = '{}') => {
  const head = [
    `POST ${agentSearch} HTTP/1.1`,
    `Host: ${hostOf(service.baseUrl)}`,
    `Authorization: Bearer ${token}`,
    ...headers,
  ]
  expect(statusOf(await exchangeBytes(service.baseUrl, head, body))).toBe(status)
})

test('a header sent twice is never half-read', async () => {
  const twice = async (header: string, other: string) =>
    statusOf(await postApi({ type: 'application/json', headers: [header, other].filter(Boolean) }))
  // One Authorization and one Content-Type are there already.
  expect(await twice(`Authorization: Bearer ${token}`, '')).toBe(401)
  expect(await twice('authorization: Bearer x', '')).toBe(401)
  expect([200, 415]).toContain(await twice('Content-Type: text/plain', ''))
  expect(await twice('Content-Encoding: gzip', '')).toBe(415)
  expect(await twice('Content-Encoding: identity', 'Content-Encoding: gzip')).toBe(415)
  expect(await twice('Origin: https://app.demo.example', 'Origin: https://evil.example')).toBe(403)
})

test('doubled parameters are refused by both endpoints and in both bodies', async () => {
  const { clientId } = clientOf(service, 'Demo public')
  const authHost = hostOf(service.authUrl)
  const query = `client_id=${clientId}&redirect_uri=https%3A%2F%2Fapp.demo.example%2Fcallback&response_type=code`
  for (const doubled of ['client_id', 'redirect_uri']) {
    const path = `/auth/v1/authorize?${query}&scope=api.access&${doubled}=x`
    const answer = await exchangeBytes(service.authUrl, [`GET ${path} HTTP/1.1`, `Host: ${authHost}`])
    expect({ status: statusOf(answer), hasLocation: /\r\nlocation:/i.test(answer) }).toEqual({
      status: 400,
      hasLocation: false,
    })
  }
  const post = (path: string, type: string, body: string) => {
    const content = [`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`]
    return exchangeBytes(service.authUrl, [`POST ${path} HTTP/1.1`, `Host: ${authHost}`, ...content], body)
  }
  const form = 'application/x-www-form-urlencoded'
  const token = '/auth/v1/token?grant_type='
  for (const [path, type, body] of [
    [`${token}refresh_token&grant_type=refresh_token`, 'application/json', '{}'],
    [`${token}refresh_token&grant%5Ftype=authorization_code`, 'application/json', '{}'],
    [`${token}authorization_code`, form, `code=a&code=a&redirect_uri=x&client_id=${clientId}`],
    [`${token}authorization_code`, form, `code=a&c%6Fde=b&redirect_uri=x&client_id=${clientId}`],
  ] as const) {
    const answer = await post(path, type, body)
    expect({ status: statusOf(answer), hasError: answer.includes('"invalid_request"') }, path + body).toEqual({
      status: 400,
      hasError: true,
    })
  }
})

test('only its own names are answered, however Host is spelt', async () => {
  for (const origin of [service.authUrl, service.baseUrl]) {
    const { port } = new URL(origin)
    const hostile = [
      'attacker.test',
      `attacker.test:${port}`,
      `127.0.0.1.attacker.test:${port}`,
      `localhost.attacker.test:${port}`,
      `127.0.0.1:${Number(port) + 1}`,
      '127.0.0.1',
      `127.0.0.1:${port}@attacker.test`,
      `attacker.test@127.0.0.1:${port}`,
      `user:pw@127.0.0.1:${port}`,
      `127.0.0.1:${port}/x`,
      `127.0.0.1:${port}?x`,
      `127.1:${port}`,
      `2130706433:${port}`,
      `0.0.0.0:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      `127.0.0.1:${port}, attacker.test`,
      `127.0.0.1:0${port}`,
      '[',
      '%',
      '',
      '\u00ff',
    ]
    for (const host of hostile) {
      const answer = await exchangeBytes(origin, ['GET /auth/v1/authorize HTTP/1.1', `Host: ${host}`])
      expect([400, 421], `${host}: ${answer.slice(0, 60)}`).toContain(statusOf(answer))
      expect(answer).not.toContain('<html')
      expect(answer.toLowerCase()).not.toContain('set-cookie')
      expect(answer).not.toContain('attacker')
    }
    expect(statusOf(await exchangeBytes(origin, ['GET / HTTP/1.1', 'Host: attacker.test']))).toBe(421)
    const missing = await exchangeBytes(origin, ['GET / HTTP/1.1'])
    expect(statusOf(missing)).toBe(400)
    const absolute = await exchangeBytes(origin, ['GET http://attacker.test/ HTTP/1.1', `Host: 127.0.0.1:${port}`])
    expect([400, 401, 404, 421]).toContain(statusOf(absolute))
    expect(absolute).not.toContain('attacker')
    for (const own of [`127.0.0.1:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
      const answer = await exchangeBytes(origin, ['GET /_dev/state HTTP/1.1', `Host: ${own}`])
      expect(statusOf(answer)).toBe(origin === service.authUrl ? 200 : 404)
    }
  }
})

test.each([
  ['no path', 'GET  HTTP/1.1'],
  ['a path without a slash', 'GET x HTTP/1.1'],
  ['an asterisk', 'OPTIONS * HTTP/1.1'],
  ['only slashes', 'GET ////// HTTP/1.1'],
  ['dots', 'GET /../../../etc/passwd HTTP/1.1'],
  ['encoded dots', 'GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1'],
  ['a bad escape', 'GET /api/parent_agents/%zz/state_function/context_variables HTTP/1.1'],
  ['a lone escape', 'GET /api/parent_agents/%/state_function/context_variables HTTP/1.1'],
  ['bytes that are not UTF-8', 'GET /api/parent_agents/%ff%fe/state_function/context_variables HTTP/1.1'],
  ['NUL', 'GET /api/parent_agents/%00/state_function/context_variables HTTP/1.1'],
  ['a fragment', 'GET /#x HTTP/1.1'],
  ['raw bytes', 'GET /\u0080\u00ff HTTP/1.1'],
  ['15 KiB', `GET /${'x'.repeat(15 * 1_024)} HTTP/1.1`],
  ['17 KiB', `GET /${'x'.repeat(17 * 1_024)} HTTP/1.1`],
  ['a method of its own', 'PWN / HTTP/1.1'],
  ['a method in small letters', 'get / HTTP/1.1'],
  ['CONNECT', 'CONNECT evil.example:443 HTTP/1.1'],
  ['another version', 'GET / HTTP/9.9'],
  ['no version', 'GET /'],
  ['TLS', '\u0016\u0003\u0001\u0002\u0000\u0001'],
])('a request line with %s does no harm', async (_, line) => {
  for (const origin of [service.authUrl, service.baseUrl]) {
    const head = [line, `Host: ${hostOf(origin)}`, `Authorization: Bearer ${token}`]
    const answer = await exchangeBytes(origin, head).catch(() => '')
    // CONNECT is cut off without a word.
    const expected = line.startsWith('CONNECT') ? [0] : [400, 401, 404, 405, 414, 422, 431, 505]
    expect(expected, answer.slice(0, 200)).toContain(statusOf(answer))
  }
})

test('forwarded headers change neither the origin that pages and redirects are made of nor the cookies', async () => {
  // With dev controls the sign-in page offers users to direct requests only.
  const fresh = await startService()
  const { clientId } = clientOf(fresh, 'Demo public')
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: 'https://app.demo.example/callback',
    response_type: 'code',
    scope: 'api.access',
    code_challenge: 'a'.repeat(43),
    code_challenge_method: 'S256',
  })
  const get = (headers: string[]) => {
    const line = `GET /auth/v1/authorize?${query} HTTP/1.1`
    return exchangeBytes(fresh.authUrl, [line, `Host: ${hostOf(fresh.authUrl)}`, ...headers])
  }
  const comparable = (answer: string) =>
    answer.replace(/[\w-]{43,}/g, '#').replace(/\r\n(?:date|x-request-id): [^\r]+/gi, '')
  const plain = await get([])
  const spoofed = await get([
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Proto: https',
    'X-Forwarded-For: 10.0.0.1',
    'X-Forwarded-Port: 1',
    'Forwarded: for=10.0.0.1;host=evil.example;proto=https',
    'X-Original-URL: /_dev/reset',
    'X-Rewrite-URL: /_dev/reset',
    'X-HTTP-Method-Override: POST',
  ])
  expect(statusOf(plain)).toBe(200)
  expect(comparable(spoofed)).toBe(comparable(plain))
  await fresh.close()
})

test('over sockets, too, a forwarded address is not read without the option', async () => {
  const fresh = await startService()
  // However long the guesses take here, no wait is over before its time.
  fresh.dev.freeze()
  const client = clientOf(fresh, 'Demo confidential')
  const statuses: number[] = []
  for (let guess = 0; guess < 12; guess += 1) {
    const remote = {
      ...fresh,
      fetch: (input: string, init: RequestInit = {}) => {
        const headers = new Headers(init.headers)
        headers.set('x-forwarded-for', `10.0.0.${guess}`)
        return fetch(input, { ...init, headers })
      },
    } as Service
    statuses.push((await refresh(remote, { ...client, clientSecret: 'x' }, 'x')).status)
  }
  expect(statuses).toEqual([...Array.from({ length: 11 }, () => 401), 429])
  await fresh.close()
})

test('no other address of this machine is listened on', async () => {
  const others = Object.values(networkInterfaces())
    .flat()
    .flatMap((address) =>
      address === undefined || address.internal || address.family !== 'IPv4' ? [] : [address.address],
    )
  // 127.0.0.2 is this machine on every Linux, and refused only by a listener that names its address.
  const addresses = process.platform === 'linux' ? [...others, '127.0.0.2'] : others
  expect(addresses.length).toBeGreaterThan(0)
  for (const origin of [service.authUrl, service.baseUrl]) {
    for (const host of addresses) {
      const outcome = await new Promise<string>((resolve) => {
        const socket = connect({ host, port: Number(new URL(origin).port), timeout: 10_000 })
        socket.on('connect', () => resolve('connected'))
        socket.on('error', () => resolve('refused'))
        socket.on('timeout', () => resolve('refused'))
        socket.on('close', () => socket.destroy())
      })
      expect(outcome, host).toBe('refused')
    }
  }
})

test('after all of it a person logs in as before', async () => {
  const tokens = await login(service)
  expect((await callApi(service, { token: tokens.access_token, path: agentSearch, body: {} })).status).toBe(200)
})
