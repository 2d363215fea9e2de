import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { connect, type Server } from 'node:net'
import { PassThrough } from 'node:stream'
import { promisify } from 'node:util'
import { type AuthConfigOptions, createAuthConfig, type Tokens } from 'agent-auth'
import { type LoopbackOptions, signInWithLoopback } from 'agent-auth/node'
import { type Service, startService } from 'agent-service'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createFormBrowser } from '../../examples/cli/src/form-browser.ts'
import { listenOnLoopback } from '../../src/node/loopback/listen.ts'
import { nextWord, startChild } from '../support/children.ts'
import { freePort } from '../support/free-port.ts'
import { listen } from '../support/listen.ts'
import { openedUrl } from '../support/opened-url.ts'
import { codeOf } from '../support/session-rig.ts'

const registered = 'http://127.0.0.1/callback'

let service: Service
beforeAll(async () => {
  service = await startService({ dev: 'on', authPort: 0, basePort: 0, redirectUris: [registered] })
})
afterAll(() => service.close())
beforeEach(() => {
  service.dev.clearFaults()
  service.dev.autoApprove(service.people.find(({ tenant }) => tenant === 'demo')?.email)
})

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

function configWith(redirectUri = registered, options: Partial<AuthConfigOptions> = {}) {
  const clientId = service.clients.find(({ name }) => name === 'Demo public')?.clientId ?? ''
  return createAuthConfig({ authUrl: service.authUrl, baseUrl: service.baseUrl, clientId, redirectUri, ...options })
}

/** A configuration that counts the exchanges of codes. The journal of the service may still get those of earlier tests. */
function countedConfig() {
  let sent = 0
  const counting: typeof fetch = (input, init) => {
    if (String(input).includes('=authorization_code')) sent += 1
    return fetch(input, init)
  }
  return { config: configWith(registered, { fetch: counting }), exchanges: () => sent }
}

/** Sends one request and follows nothing. */
function send(url: string | URL, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { method, headers, agent: false }, async (response) => {
      let text = ''
      for await (const chunk of response) text += chunk
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
    })
      .on('error', reject)
      .end()
  })
}

/** Returns the callback that the service sends the browser to. */
async function callbackFrom(authorizeUrl: string): Promise<URL> {
  const response = await fetch(authorizeUrl, { redirect: 'manual' })
  return new URL(response.headers.get('location') ?? '')
}

/**
 * Does what a browser does with the callback: it follows the redirect to the last page. Returns the first response. A browser that is
 * late finds the port closed.
 */
async function follow(callback: URL): Promise<Answer> {
  const answer = await send(callback)
  if (answer.status === 303) await send(new URL(answer.headers.location ?? '', callback)).catch(() => {})
  return answer
}

/** A login that has opened its URL. `settled` never rejects. */
async function started(options: LoopbackOptions = {}, config = configWith()) {
  let open: (url: string) => void = () => {}
  const url = new Promise<string>((resolve) => {
    open = resolve
  })
  const settled = codeOf(signInWithLoopback(config, { openBrowser: open, ...options }))
  const opened = await url
  const authorizeUrl = await openedUrl(opened)
  const redirectUri = new URL(authorizeUrl).searchParams.get('redirect_uri') ?? ''
  return { opened, authorizeUrl, redirectUri, settled }
}

async function isRefused(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname.replace(/[[\]]/g, ''))
  const refused = await Promise.race([
    once(socket, 'connect').then(() => false),
    once(socket, 'error').then(() => true),
  ]).catch(() => true)
  socket.destroy()
  return refused
}

async function occupied(): Promise<number> {
  const server: Server = createServer()
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())))
  return listen(server)
}

test('signs in through the pages of the service, and leaves a page without the code', async () => {
  service.dev.autoApprove(undefined)
  const account = service.people.find(({ tenant }) => tenant === 'demo') ?? { email: '', password: '' }
  let given: unknown[] = []
  let authorizeUrl = ''
  const pages: { url: string; text: string }[] = []
  const browse: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    pages.push({ url: response.url, text: await response.clone().text() })
    return response
  }
  const tokens = await signInWithLoopback(configWith(), {
    ports: [await freePort()],
    async openBrowser(...args: unknown[]) {
      given = args
      const url = new URL(await openedUrl(String(args[0])))
      authorizeUrl = url.href
      const redirectUri = url.searchParams.get('redirect_uri') ?? ''
      await createFormBrowser(browse, account).signInAndApprove(url, redirectUri)
    },
  })
  expect(given).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/start\/[\w-]{43}$/)])
  expect(authorizeUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/auth\/v1\/authorize\?[!-~]+$/)
  const redirectUri = new URL(authorizeUrl).searchParams.get('redirect_uri')
  expect(redirectUri).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
  await expect
    .poll(() => pages.at(-1))
    .toEqual({ url: `${redirectUri}/done`, text: expect.stringContaining('return to the') })
  expect(await isRefused(String(redirectUri))).toBe(true)
  const headers = { authorization: `Bearer ${tokens.accessToken}`, 'content-type': 'application/json' }
  const search = { method: 'POST', headers, body: '{}' }
  expect((await fetch(`${service.baseUrl}/api/parent_agents/search`, search)).status).toBe(200)
  expect(tokens.refreshToken).toBeTruthy()
})

describe('the listener', () => {
  test('is on 127.0.0.1 alone, with a port of its own for each login', async () => {
    const [one, two] = await Promise.all([started(), started()])
    expect(one.redirectUri).not.toBe(two.redirectUri)
    const { port } = new URL(one.redirectUri)
    expect(await isRefused(one.redirectUri)).toBe(false)
    // 0.0.0.0 would answer here as well.
    expect(await isRefused(`http://127.0.0.2:${port}`)).toBe(true)
    for (const { authorizeUrl, settled } of [one, two]) {
      await follow(await callbackFrom(authorizeUrl))
      expect(await settled).toMatchObject({ resolved: expect.objectContaining({ accessToken: expect.any(String) }) })
    }
  })

  test('takes the next loopback address if the machine does not have the first', async () => {
    // 192.0.2.1 is of a network for documentation.
    const listener = await listenOnLoopback(['192.0.2.1', '127.0.0.1'], [await freePort()])
    listener.server.on('request', (_, response) => response.end('here'))
    expect(listener.origin).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect((await send(listener.origin)).text).toBe('here')
    await listener.close()
    expect(await isRefused(listener.origin)).toBe(true)
  })

  test('skips busy ports in order, and says that all are busy', async () => {
    const busy = [await occupied(), await occupied()]
    const free = await freePort()
    const { authorizeUrl, redirectUri, settled } = await started({ ports: [...busy, free] })
    expect(redirectUri).toBe(`http://127.0.0.1:${free}/callback`)
    await follow(await callbackFrom(authorizeUrl))
    expect(await settled).toHaveProperty('resolved')
    await expect(signInWithLoopback(configWith(), { ports: busy })).rejects.toMatchObject({
      code: 'login_failed',
      retryable: true,
      message: expect.stringContaining('ports'),
    })
  })

  test('takes the port of the redirect URI if there is no other option', async () => {
    const busy = await occupied()
    const config = configWith(`http://127.0.0.1:${busy}/callback`)
    expect(await codeOf(signInWithLoopback(config, {}))).toBe('login_failed')
  })

  test('survives a hundred other requests, and is closed after the callback', async () => {
    const { config, exchanges } = countedConfig()
    const { authorizeUrl, redirectUri, settled } = await started({ ports: [await freePort()] }, config)
    const { origin } = new URL(redirectUri)
    const junk: [string, string, number][] = [
      ['GET', '/favicon.ico', 404],
      ['GET', '/callback', 400],
      ['GET', '/callback?code=x&state=wrong', 400],
      ['GET', '/callback?error=access_denied', 400],
      ['GET', '/callback?error=access_denied&state=wrong', 400],
      ['POST', '/callback?code=x&state=wrong', 405],
      ['HEAD', '/callback', 405],
      ['GET', '/callback/other', 404],
    ]
    for (let batch = 0; batch < 3; batch++) {
      const sent = Array.from({ length: 40 }, (_, index) => junk[index % junk.length] ?? ['GET', '/', 404])
      const answers = await Promise.all(sent.map(([method, path]) => send(`${origin}${path}`, {}, method as string)))
      expect(answers.map(({ status }) => status)).toEqual(sent.map(([, , status]) => status))
    }
    const callback = await callbackFrom(authorizeUrl)
    expect((await follow(callback)).status).toBe(303)
    expect(await settled).toHaveProperty('resolved')
    expect(exchanges()).toBe(1)
    expect(await isRefused(origin)).toBe(true)
  })

  test('exchanges the code of a callback that comes twice once', async () => {
    const { config, exchanges } = countedConfig()
    const { authorizeUrl, settled } = await started({}, config)
    const callback = await callbackFrom(authorizeUrl)
    const answers = await Promise.all([send(callback), follow(callback)])
    expect(answers.map(({ status }) => status)).toEqual([303, 303])
    expect(await settled).toHaveProperty('resolved')
    expect(exchanges()).toBe(1)
  })

  test('answers 400 under another host name, and lets no other origin read', async () => {
    const { authorizeUrl, redirectUri, settled } = await started()
    const { port, host } = new URL(redirectUri)
    const callback = await callbackFrom(authorizeUrl)
    for (const other of [`evil.test:${port}`, `localhost:${port}`, '127.0.0.1', 'evil.test']) {
      const { status, text } = await send(callback, { host: other })
      expect({ other, status }).toEqual({ other, status: 400 })
      expect(text).not.toContain(other)
    }
    const origin = 'https://evil.test'
    const preflight = await send(callback, { origin, 'access-control-request-method': 'GET' }, 'OPTIONS')
    expect({ status: preflight.status, allow: preflight.headers.allow }).toEqual({ status: 405, allow: 'GET' })
    const answer = await send(callback, { origin, host })
    expect(answer.status).toBe(303)
    for (const { headers } of [preflight, answer])
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    expect(await settled).toHaveProperty('resolved')
  })

  test('redirects away from the code, with headers that keep the page to itself', async () => {
    const { authorizeUrl, redirectUri, settled } = await started()
    const callback = await callbackFrom(authorizeUrl)
    const first = await send(callback)
    const junk = await send(`${redirectUri}/x`)
    expect({ status: first.status, location: first.headers.location }).toEqual({
      status: 303,
      location: '/callback/done',
    })
    const last = await send(`${redirectUri}/done?name=<b>reflected</b>`)

    for (const { headers, text } of [first, last, junk]) {
      expect(headers).toMatchObject({
        'content-security-policy': expect.stringContaining("default-src 'none'"),
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        connection: 'close',
      })
      expect(text).not.toMatch(/reflected|state=|code=/)
    }
    expect(await settled).toHaveProperty('resolved')
  })
})

describe('the address that the browser is started with', () => {
  test('has nothing of the authorize URL, for other users can read the arguments of a program', async () => {
    const { opened, authorizeUrl, redirectUri, settled } = await started()
    expect(new URL(opened).origin).toBe(new URL(redirectUri).origin)
    const { state, code_challenge } = Object.fromEntries(new URL(authorizeUrl).searchParams)
    for (const secret of [state, code_challenge]) expect(opened).not.toContain(secret)
    await follow(await callbackFrom(authorizeUrl))
    expect(await settled).toHaveProperty('resolved')
  })

  test('leads to the service once: if two programs open it, the login ends', async () => {
    const { opened, redirectUri, settled } = await started({ ports: [await freePort()] })
    const again = await send(opened)
    expect({ status: again.status, location: again.headers.location }).toEqual({ status: 410, location: undefined })
    expect(await settled).toBe('login_failed')
    expect(await isRefused(redirectUri)).toBe(true)
  })

  // Only root can start a program as another user.
  test.runIf(process.platform === 'linux' && process.geteuid?.() === 0)(
    'gives nothing to another user of the machine who read it and is first, and the login goes on',
    async () => {
      let open: (url: string) => void = () => {}
      const opened = new Promise<string>((resolve) => {
        open = resolve
      })
      const settled = codeOf(signInWithLoopback(configWith(), { openBrowser: open }))
      const script =
        'fetch(process.argv[1], { redirect: "manual" }).then((r) => console.log(r.status, r.headers.get("location")))'
      const { stdout } = await promisify(execFile)(process.execPath, ['-e', script, await opened], {
        uid: 65_534,
        cwd: '/',
      })
      expect(stdout).toBe('404 null\n')
      await follow(await callbackFrom(await openedUrl(await opened)))
      expect(await settled).toHaveProperty('resolved')
    },
  )

  test('cannot be guessed from another one', async () => {
    const { opened, settled } = await started()
    expect((await send(opened.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')))).status).toBe(404)
    expect((await send(`${new URL(opened).origin}/start/`)).status).toBe(404)
    await send(opened)
    expect(await settled).toBe('login_failed')
  })
})

describe('a login that ends without tokens', () => {
  test('rejects with timeout after its time', async () => {
    const { redirectUri, settled } = await started({ timeoutMs: 200, ports: [await freePort()] })
    expect(await settled).toBe('timeout')
    const late = signInWithLoopback(configWith(), { openBrowser: () => {}, timeoutMs: 1 })
    const message = `No login at ${service.authUrl} was finished within 1 ms. See what the browser shows. If no browser opened, sign in without openBrowser.`
    await expect(late).rejects.toMatchObject({ code: 'timeout', retryable: true, message })
    expect(await isRefused(redirectUri)).toBe(true)
  })

  test('rejects with aborted if a signal fires before it, while it waits, or during the exchange', async () => {
    const never: unknown[] = []
    const openBrowser = (url: string): number => never.push(url)
    // If the login asked for this busy port, it would reject with login_failed.
    const before = { openBrowser, signal: AbortSignal.abort(), ports: [await occupied()] }
    expect(await codeOf(signInWithLoopback(configWith(), before))).toBe('aborted')
    expect(never).toEqual([])
    const waiting = new AbortController()
    const one = await started({ signal: waiting.signal, ports: [await freePort()] })
    waiting.abort()
    expect(await one.settled).toBe('aborted')
    expect(await isRefused(one.redirectUri)).toBe(true)
    service.dev.addFault({ match: { origin: 'auth', method: 'POST' }, effect: { delayMs: 5_000 }, times: 1 })
    const exchanging = new AbortController()
    const two = await started({ signal: exchanging.signal, ports: [await freePort()] })
    expect((await send(await callbackFrom(two.authorizeUrl))).status).toBe(303)
    await expect.poll(() => service.dev.faults()).toEqual([])
    exchanging.abort()
    expect(await two.settled).toBe('aborted')
    expect(await isRefused(two.redirectUri)).toBe(true)
  })

  test('shows a page that sends the user back if the user refuses', async () => {
    const { authorizeUrl, redirectUri, settled } = await started({ ports: [await freePort()] })
    const state = new URL(authorizeUrl).searchParams.get('state')
    const { status, headers } = await send(`${redirectUri}?error=access_denied&state=${state}`)
    expect({ status, location: headers.location }).toEqual({ status: 303, location: '/callback/done' })
    expect(await settled).toBe('login_denied')
    expect(await isRefused(redirectUri)).toBe(true)
  })
})

test('a login lets the process exit at once, although a browser keeps a connection open', async () => {
  const clientId = service.clients.find(({ name }) => name === 'Demo public')?.clientId ?? ''
  const child = await startChild(onTestFinished, 'loopback-child.ts', [service.authUrl, clientId])
  const authorizeUrl = await openedUrl(String(await nextWord(child)))
  await openConnection(new URL(authorizeUrl).searchParams.get('redirect_uri') ?? '')
  const word = nextWord(child)
  const exit = once(child, 'exit')
  await follow(await callbackFrom(authorizeUrl))
  expect(await word).toEqual({ outcome: 'signed in', live: [] })
  const [code, signal] = await exit
  expect({ code, signal }).toEqual({ code: 0, signal: null })
})

/** Connects as a browser does that expects to send more. */
async function openConnection(redirectUri: string): Promise<void> {
  const socket = connect(Number(new URL(redirectUri).port), '127.0.0.1')
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  socket.write('GET /callback HTTP/1.1\r\nHost: ')
}

describe('without a browser on this machine', () => {
  function terminal() {
    const [input, output] = [new PassThrough(), new PassThrough()]
    let text = ''
    output.on('data', (chunk) => {
      text += chunk
    })
    return { input, output, text: () => text }
  }

  test.each([
    ['is absent', undefined],
    [
      'throws',
      () => {
        throw new Error('no browser')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no browser'))],
  ])('the user pastes the callback if openBrowser %s', async (_, openBrowser) => {
    const screen = terminal()
    const { config, exchanges } = countedConfig()
    const login = signInWithLoopback(config, { openBrowser, terminal: screen })
    await expect.poll(() => screen.text()).toMatch(/http:\/\/\S+authorize\S+/)
    const [authorizeUrl = ''] = /http:\/\/\S+authorize\S+/.exec(screen.text()) ?? []
    const callback = await callbackFrom(authorizeUrl)
    const code = callback.searchParams.get('code') ?? ''
    const refusals: [string, string][] = [
      [code, 'A code alone cannot be checked'],
      [`?${callback.searchParams}`, 'This is no URL'],
      [callback.href.replace('state=', 'state=x'), 'another login'],
      [callback.href.replace('/callback', '/other'), 'the redirectUri'],
      [`${callback.href}&code=second`, 'repeats code'],
    ]
    for (const [pasted, problem] of refusals) {
      screen.input.write(`${pasted}\n`)
      await expect.poll(() => screen.text()).toContain(problem)
    }
    expect(exchanges()).toBe(0)
    expect(screen.text()).not.toContain(code)
    screen.input.write(`\n  ${callback.href}  \n`)
    expect((await login).accessToken).toBeTruthy()
    // The empty line before the callback gets no response.
    expect(screen.text().split('Paste the whole URL')).toHaveLength(refusals.length + 1)
    expect(exchanges()).toBe(1)
    expect(screen.input.isPaused()).toBe(true)
  })

  async function pasting() {
    const screen = terminal()
    const login = signInWithLoopback(configWith(), { terminal: screen })
    await expect.poll(() => screen.text()).toMatch(/http:\/\/\S+authorize\S+/)
    const [authorizeUrl = ''] = /http:\/\/\S+authorize\S+/.exec(screen.text()) ?? []
    return { screen, login, callback: (await callbackFrom(authorizeUrl)).href }
  }

  test.each<[what: string, line: (url: string) => string]>([
    ['marks of a bracketed paste', (url) => `\u001b[200~${url}\u001b[201~`],
    ['characters that are not seen', (url) => url.replace('callback', 'call\u200bback')],
    ['quotes', (url) => `"${url}"`],
    ['angle brackets', (url) => `<${url}>`],
    ['another URL behind it', (url) => `${url} https://example.com/`],
    ['a label before it', (url) => `URL: ${url}`],
    ['no scheme, as browsers copy it', (url) => url.replace('http://', '')],
    ['an escaped &', (url) => url.replace('&', '&amp;')],
  ])('a pasted URL with %s is taken', async (_, line) => {
    const { screen, login, callback } = await pasting()
    const refusal = new Promise((resolve) => {
      screen.output.on('data', (text) => text.includes('Paste the whole URL') && resolve(String(text)))
    })
    screen.input.write(`${line(callback)}\n`)
    expect(await Promise.race([login, refusal])).toHaveProperty('accessToken')
  })

  test.each<[what: string, cut: (url: string) => string]>([
    ['within its state', (url) => url.slice(0, -5)],
    ['before its state', (url) => url.replace(/&state=.*/, '')],
  ])('a pasted URL that ends %s is said to be cut, and the whole one is taken after that', async (_, cut) => {
    const { screen, login, callback } = await pasting()
    screen.input.write(`${cut(callback)}\n`)
    await expect.poll(() => screen.text()).toContain('The URL is cut')
    expect(screen.text()).not.toContain('another login')
    screen.input.write(`${callback}\n`)
    expect((await login).accessToken).toBeTruthy()
  })

  test('the callback may still come to the port, after the input ended', async () => {
    const screen = terminal()
    const login: Promise<Tokens> = signInWithLoopback(configWith(), { terminal: screen })
    screen.input.end()
    await expect.poll(() => screen.text()).toMatch(/http:\/\/\S+authorize\S+/)
    const [authorizeUrl = ''] = /http:\/\/\S+authorize\S+/.exec(screen.text()) ?? []
    expect((await follow(await callbackFrom(authorizeUrl))).status).toBe(303)
    expect((await login).accessToken).toBeTruthy()
  })
})

test.each<[string, LoopbackOptions, string?]>([
  ['redirectUri', {}, 'https://app.example.com/callback'],
  ['redirectUri', {}, 'http://localhost/callback'],
  ['ports', { ports: [] }],
  ['ports', { ports: [65_536] }],
  ['timeoutMs', { timeoutMs: 0 }],
  ['timeoutMs', { timeoutMs: 600_001 }],
  ['openBrowser', { openBrowser: 'firefox' as never }],
  ['prot', { prot: 80 } as never],
])('a wrong %s is refused before anything is opened', async (name, options, redirectUri) => {
  await expect(signInWithLoopback(configWith(redirectUri), options)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining(name),
  })
})
