import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readClaims } from 'agent-auth'
import { type Service, startService } from 'agent-service'
import { build } from 'esbuild'
import { HttpResponse, http, type RequestHandler } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { commandMain } from '../src/command/command.ts'
import { freePort } from './support/free-port.ts'
import { type Ran, runInProcess } from './support/in-process.ts'
import { listen } from './support/listen.ts'
import { printed } from './support/printed.ts'

const root = fileURLToPath(new URL('../', import.meta.url))

const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string }

let folder: string
let service: Service
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'agent-auth-command-'))
  await build({
    entryPoints: { command: `${root}src/command/main.ts` },
    // The package has its command in a folder beside package.json, too.
    outdir: join(folder, 'dist'),
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    external: ['oauth4webapi', 'jose'],
    logLevel: 'warning',
  })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }))
  symlinkSync(`${root}node_modules`, join(folder, 'node_modules'))
  // A browser without windows: it notes its arguments, and follows every redirect.
  const browser = `#!${process.execPath}\nrequire('node:fs').writeFileSync(process.env.OPENED, JSON.stringify(process.argv.slice(2)))\nfetch(process.argv[2]).then((page) => page.text())\n`
  const openers = {
    bin: browser,
    'bin-that-notes': '#!/bin/sh\nprintf \'["%s"]\\n\' "$1" >"$OPENED"\n',
    'bin-without-browser': `#!${process.execPath}\nprocess.exit(3)\n`,
    'bin-with-window': `${browser}require('node:fs').writeFileSync(process.env.OPENED + '.pid', String(process.pid))\nsetInterval(() => {}, 60_000)\n`,
  }
  for (const [name, text] of Object.entries(openers)) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'xdg-open'), text, { mode: 0o755 })
  }
  service = await startService({ dev: 'on', authPort: 0, basePort: 0 })
})
afterAll(async () => {
  await service.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(() => service.dev.autoApprove(service.people.find(({ tenant }) => tenant === 'demo')?.email))

/** A user's machine: a folder for sessions, and a PATH. */
function machine(path = join(folder, 'bin')) {
  const home = mkdtempSync(join(folder, 'home-'))
  const env = { AGENT_AUTH_HOME: join(home, 'agent-auth'), OPENED: join(home, 'opened'), PATH: path }
  const startWith = (more: Readonly<Record<string, string>>, ...args: string[]): ChildProcess => {
    const child = spawn(process.execPath, [join(folder, 'dist', 'command.mjs'), ...args], { env: { ...env, ...more } })
    onTestFinished(() => void child.kill('SIGKILL'))
    return child
  }
  const start = (...args: string[]): ChildProcess => startWith({}, ...args)
  /** The browser is this process as well. */
  const runWith = async (more: Readonly<Record<string, string>>, ...args: string[]): Promise<Ran> => {
    const ended = new AbortController()
    const browsing = followOpened(env.OPENED, ended.signal)
    try {
      return withoutReminder(
        await runInProcess(commandMain, args, { ...env, PATH: join(folder, 'bin-that-notes'), ...more }),
      )
    } finally {
      ended.abort()
      await browsing
    }
  }
  return {
    file: join(env.AGENT_AUTH_HOME, 'sessions.json'),
    env,
    opened: (): string[] => JSON.parse(readFileSync(env.OPENED, 'utf8')),
    start,
    /** In a process of its own, where that is the point: its exit, its output, and what it shares with others. */
    runProcess: (...args: string[]): Promise<Ran> => ended(start(...args)),
    runProcessWith: (more: Readonly<Record<string, string>>, ...args: string[]): Promise<Ran> =>
      ended(startWith(more, ...args)),
    run: (...args: string[]): Promise<Ran> => runWith({}, ...args),
    runWith,
  }
}

/** Follows every redirect of the URL that is noted in the file, as soon as it is there. */
async function followOpened(file: string, signal: AbortSignal): Promise<void> {
  rmSync(file, { force: true })
  while (!signal.aborted) {
    const noted = existsSync(file) ? readFileSync(file, 'utf8') : ''
    if (noted.endsWith('\n')) return void (await (await fetch(JSON.parse(noted)[0])).text())
    await sleep(5)
  }
}

async function ended(child: ChildProcess): Promise<Ran> {
  const exit = once(child, 'exit')
  const [out, err] = await Promise.all(
    [child.stdout, child.stderr].map((stream) => text(stream as NodeJS.ReadableStream as never)),
  )
  const [code] = await exit
  return withoutReminder({ code, out: out ?? '', err: err ?? '' })
}

/** Removes the reminder of the URL, which the command prints if no callback came within 3 s, as on a busy machine. */
function withoutReminder(ran: Ran): Ran {
  const reminder = /If no browser opened, open this URL in a browser on any machine:\n\n {2}http\S+\n\n/
  return { ...ran, err: ran.err.replace(reminder, '') }
}

function settings(change: Record<string, string> = {}): string[] {
  const { authUrl, baseUrl, clients } = service
  const clientId = clients.find(({ name }) => name === 'Demo public')?.clientId ?? ''
  const flags = { 'auth-url': authUrl, 'base-url': baseUrl, 'client-id': clientId, ...change }
  return Object.entries(flags).map(([name, value]) => `--${name}=${value}`)
}

async function signedIn() {
  const user = machine()
  expect(await user.run('login', ...settings())).toMatchObject({ code: 0, out: 'default: signed in\n', err: '' })
  return user
}

function tokensIn(file: string): { accessToken: string; refreshToken: string } {
  const { records } = JSON.parse(readFileSync(file, 'utf8')) as { records: Record<string, string> }
  return Object.values(records)
    .map((record) => JSON.parse(record))
    .find(({ accessToken }) => accessToken)
}

/** Makes the access token in the file one that has expired. */
function expire(file: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replace(/\\"expiresAtMs\\":\d+/, '\\"expiresAtMs\\":1000'))
}

/** Responds to some requests of this process. The others are sent. */
function answerWith(...handlers: RequestHandler[]): void {
  const server = setupServer(...handlers)
  server.listen({ onUnhandledRequest: 'bypass' })
  onTestFinished(() => server.close())
}

const refreshes = (): number =>
  service.dev.journal().filter((entry) => entry.kind === 'request' && entry.grantType === 'refresh_token').length

describe('a session', () => {
  test('from login to logout prints no token but by token', async () => {
    const user = machine()
    const login = await user.runProcess('login', ...settings())
    expect(login).toEqual({ code: 0, out: 'default: signed in\n', err: '' })
    expect(user.opened()).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/start\/[\w-]+$/)])
    expect(statSync(user.file).mode & 0o777).toBe(0o600)
    expect(readdirSync(join(user.file, '..'))).toEqual(['sessions.json'])
    const { accessToken, refreshToken } = tokensIn(user.file)
    const status = await user.run('status', '--json')
    expect(JSON.parse(status.out)).toMatchObject({ profile: 'default', status: 'signed-in', baseUrl: service.baseUrl })
    const until = new Date(JSON.parse(status.out).expiresAtMs).toISOString()
    const { subject, tenant, permissions = [] } = readClaims({ accessToken }) ?? {}
    const who = `default: signed-in\n  user ${subject}\n  tenant ${tenant}\n  permissions ${permissions.join(', ')}\n`
    const where = `  access token until ${until}\n  authorization server ${service.authUrl}\n  API ${service.baseUrl}\n  tokens in ${user.file}\n`
    for (const name of ['status', 'whoami']) expect((await user.run(name)).out).toBe(who + where)
    expect(permissions).toContain('api.access')
    expect(subject).toMatch(/^person_/)
    const search = await user.runProcess('fetch', 'POST', '/api/parent_agents/search', '{"limit":2,"offset":0}')
    expect(search).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(search.out)).toMatchObject({ success: true })
    const missing = await user.run('fetch', 'GET', '/api/nothing', '--json')
    expect({ code: missing.code, output: JSON.parse(missing.out) }).toEqual({
      code: 1,
      output: expect.objectContaining({ status: 404 }),
    })
    expect(missing.err).toBe('agent-auth: the API responded with 404\n')
    expect(await user.runProcess('token')).toEqual({ code: 0, out: `${accessToken}\n`, err: '' })
    const logout = await user.runProcess('logout')
    expect(logout).toMatchObject({ code: 0, out: 'default: signed out\n' })
    for (const { out, err } of [login, status, search, missing, logout])
      for (const secret of [accessToken, refreshToken]) expect(out + err).not.toContain(secret.slice(-20))
    expect(readFileSync(user.file, 'utf8')).not.toContain(refreshToken)
    expect(await user.run('token')).toMatchObject({
      code: 3,
      out: '',
      err: expect.stringContaining('No user is signed in. Run agent-auth login.'),
    })
    expect(await user.run('status')).toMatchObject({ code: 3 })
  })

  test('has a profile for each service or user', async () => {
    const user = await signedIn()
    expect(await user.run('token', '--profile', 'other')).toEqual({
      code: 3,
      out: '',
      err: 'agent-auth: There is no profile other. Run agent-auth login. (login_required)\n',
    })
    expect((await user.run('login', '--profile', 'other', ...settings())).code).toBe(0)
    const one = await user.run('token')
    const two = await user.run('token', '--profile', 'other')
    expect(one.out).not.toBe(two.out)
    expect(await user.run('logout', '--profile', 'other', '--json')).toEqual({
      code: 0,
      out: '{"profile":"other","status":"signed-out"}\n',
      err: '',
    })
    expect((await user.run('token')).out).toBe(one.out)
  })

  test('ends when its profile signs in to another service, so that a logout leaves no token', async () => {
    const user = await signedIn()
    const { refreshToken } = tokensIn(user.file)
    const other = service.authUrl.replace('127.0.0.1', 'localhost')
    expect(other).not.toBe(service.authUrl)
    expect((await user.run('login', ...settings({ 'auth-url': other }))).code).toBe(0)
    expect((await user.run('token')).code).toBe(0)
    expect(readFileSync(user.file, 'utf8')).not.toContain(refreshToken)
    expect((await user.run('logout')).code).toBe(0)
    expect(readFileSync(user.file, 'utf8')).not.toContain('refreshToken')
  })

  test('is refreshed once by eight terminals', async () => {
    const user = await signedIn()
    service.dev.advance(0)
    const before = refreshes()
    const file = JSON.parse(readFileSync(user.file, 'utf8'))
    for (const [key, record] of Object.entries<string>(file.records)) {
      const value = JSON.parse(record)
      if (value.expiresAtMs)
        file.records[key] = JSON.stringify({
          ...value,
          obtainedAtMs: value.obtainedAtMs - 3_600_000,
          expiresAtMs: Date.now() - 1_000,
        })
    }
    writeFileSync(user.file, JSON.stringify(file))
    const runs = await Promise.all(Array.from({ length: 8 }, () => user.runProcess('token')))
    expect(runs.map(({ code, err }) => ({ code, err }))).toEqual(runs.map(() => ({ code: 0, err: '' })))
    expect(new Set(runs.map(({ out }) => out)).size).toBe(1)
    expect(refreshes()).toBe(before + 1)
  })

  test.each([
    ['SIGINT', 100, 130, 'new', ['token']],
    ['SIGTERM', 100, 143, 'new', ['fetch', 'GET', '/api/not-sent']],
    ['SIGINT', 1_500, null, 'old', ['token']],
  ] as const)(
    'that is refreshed during a %s, and another one %i ms later, ends with exit code %s and has the %s tokens',
    async (signal, pauseMs, code, kept, args) => {
      const user = await signedIn()
      expire(user.file)
      const old = tokensIn(user.file).refreshToken
      service.dev.addFault({
        match: { origin: 'auth', method: 'POST' },
        effect: { delayMs: pauseMs + 1_500 },
        times: 1,
      })
      onTestFinished(() => service.dev.clearFaults())
      const child = user.start(...args)
      const run = ended(child)
      await expect.poll(() => service.dev.faults()).toEqual([])
      child.kill(signal)
      await sleep(pauseMs)
      child.kill(signal)
      expect(await run).toEqual({ code, out: '', err: '' })
      expect(tokensIn(user.file).refreshToken === old).toBe(kept === 'old')
      if (kept === 'new') expect(readdirSync(join(user.file, '..'))).toEqual(['sessions.json'])
      expect(service.dev.journal()).not.toContainEqual(expect.objectContaining({ path: '/api/not-sent' }))
    },
  )

  test.skipIf(process.platform === 'win32')('is not used while its successor could not be saved', async () => {
    const user = await signedIn()
    expire(user.file)
    // The file of the sessions is larger than the limit, and that of the leases is not.
    const line = 'ulimit -f 1 && exec "$0" "$1" token'
    const args = ['-c', line, process.execPath, join(folder, 'dist', 'command.mjs')]
    const err = expect.stringMatching(/\(EFBIG\).*\nThe storage is /)
    const before = service.dev.journal().length
    expect(await ended(spawn('/bin/sh', args, { env: user.env }))).toEqual({ code: 4, out: '', err })
    expect(service.dev.journal()).toHaveLength(before)
    expect(await user.run('token')).toMatchObject({ code: 0 })
  })

  test('says to try later while the service is away, and keeps the session', async () => {
    const user = await signedIn()
    service.dev.addFault({ match: { origin: 'auth', method: 'POST' }, effect: { status: 503 }, times: 100 })
    onTestFinished(() => service.dev.clearFaults())
    expire(user.file)
    const kept = tokensIn(user.file).refreshToken
    expect(await user.run('token')).toMatchObject({
      code: 4,
      out: '',
      err: expect.stringContaining('temporarily_unavailable'),
    })
    expect(tokensIn(user.file).refreshToken).toBe(kept)
    service.dev.clearFaults()
    answerWith(http.post('*/auth/v1/token', () => HttpResponse.json({}, { status: 404 }), { once: true }))
    expect((await user.run('token')).err).toContain('responded with 404. Check --auth-url (agent-auth doctor). (')
    writeFileSync(user.file, readFileSync(user.file, 'utf8').replace(kept, 'unknown'))
    expect(await user.run('token')).toMatchObject({ code: 3, out: '', err: expect.stringContaining('(session_ended)') })
  })
})

describe('a request to the API', () => {
  test('takes its body from stdin, and says nothing of an error that is not known to hold no secret', async () => {
    const user = await signedIn()
    const child = user.start('fetch', 'post', '/api/parent_agents/search', '-')
    child.stdin?.end('{"limit":1,"offset":0}')
    const { code, out } = await ended(child)
    expect({ code, itemsCount: JSON.parse(out).data.items.length }).toEqual({ code: 0, itemsCount: 1 })
    // A file that is open only to be written cannot be read.
    const file = openSync(`${user.file}.written`, 'a')
    onTestFinished(() => closeSync(file))
    const args = [join(folder, 'dist', 'command.mjs'), 'fetch', 'POST', '/api/llm_models/search', '-']
    const broken = spawn(process.execPath, args, { env: user.env, stdio: [file, 'pipe', 'pipe'] })
    expect(await ended(broken)).toEqual({ code: 1, out: '', err: 'agent-auth: an unexpected error occurred\n' })
  })

  test('names --base-url and exits with 4 if the API does not respond, or ends its response early', async () => {
    const server = createServer((request, response) => {
      request.resume().once('end', () => {
        response.writeHead(200, { 'content-length': 100 }).write('{', () => response.socket?.end())
      })
    })
    const baseUrl = `http://127.0.0.1:${await listen(server)}`
    onTestFinished(() => void server.close())
    const user = machine()
    expect((await user.run('login', ...settings({ 'base-url': baseUrl }))).code).toBe(0)
    const early = await user.run('fetch', 'POST', '/api/llm_models/search', '{}')
    expect(early).toMatchObject({ code: 4, out: '' })
    expect(early.err).toContain(`The response of ${baseUrl} ended early. The API may have done what was asked.`)
    const closed = once(server, 'close')
    server.close()
    await closed
    const away = await user.run('fetch', 'POST', '/api/llm_models/search', '{}')
    expect(away).toMatchObject({ code: 4, out: '' })
    expect(away.err).toContain(`${baseUrl} did not respond. Check --base-url (agent-auth doctor).`)
  })
})

describe('a login', () => {
  const addressFrom = (child: ChildProcess): Promise<string> => printed(child, /(http:\/\/\S+authorize\S+)\n/)

  test.each(['SIGINT', 'SIGTERM'] as const)('ends at %s with exit code 130 and a closed port', async (signal) => {
    const user = machine()
    const child = user.start('login', ...settings({ ports: String(await freePort()) }), '--no-browser')
    const run = ended(child)
    const redirectUri = new URL(new URL(await addressFrom(child)).searchParams.get('redirect_uri') ?? '')
    const open = connect(Number(redirectUri.port), '127.0.0.1').on('error', () => {})
    await once(open, 'connect')
    child.kill(signal)
    expect(await run).toMatchObject({ code: 130, out: '', err: expect.stringContaining('agent-auth: Cancelled. (') })
    const refused = connect(Number(redirectUri.port), '127.0.0.1')
    expect(await once(refused, 'error')).toMatchObject([{ code: 'ECONNREFUSED' }])
    expect((await user.run('token')).code).toBe(3)
  })

  test('ends at Ctrl-C during the exchange of the code, and keeps nothing', async () => {
    const user = machine()
    service.dev.addFault({ match: { origin: 'auth', method: 'POST' }, effect: { delayMs: 5_000 }, times: 1 })
    onTestFinished(() => service.dev.clearFaults())
    const child = user.start('login', ...settings())
    const run = ended(child)
    await expect.poll(() => service.dev.faults()).toEqual([])
    child.kill('SIGINT')
    expect(await run).toMatchObject({ code: 130, out: '', err: expect.stringContaining('agent-auth: Cancelled. (') })
    expect(existsSync(user.file)).toBe(false)
  })

  test('of the same profile at the same time leaves one of the two sessions', async () => {
    const user = machine()
    const logins = await Promise.all([1, 2].map(() => user.runProcess('login', ...settings())))
    expect(logins.map(({ code, err }) => ({ code, err }))).toEqual([
      { code: 0, err: '' },
      { code: 0, err: '' },
    ])
    expect(await user.run('token')).toEqual({ code: 0, out: `${tokensIn(user.file).accessToken}\n`, err: '' })
  })

  test('that the user does not finish ends after its time, and says what to do', async () => {
    const run = await machine().runProcess('login', ...settings(), '--no-browser', '--timeout', '1')
    expect({ code: run.code, out: run.out, err: run.err }).toEqual({
      code: 1,
      out: '',
      err: expect.stringContaining('Run agent-auth login again, with --timeout 600'),
    })
  })

  test('opens no browser if its session could not be kept', async () => {
    const user = machine()
    mkdirSync(user.env.AGENT_AUTH_HOME)
    chmodSync(user.env.AGENT_AUTH_HOME, 0o777)
    expect(await user.run('login', ...settings())).toMatchObject({ code: 1, err: expect.stringContaining('chmod 700') })
    expect(() => user.opened()).toThrow('ENOENT')
  })

  test('that saved no session says so, and prints no success', async () => {
    const user = await signedIn()
    const { v, records } = JSON.parse(readFileSync(user.file, 'utf8'))
    const newer = Object.entries<string>(records).map(([key, text]) => [
      key,
      text.includes('accessToken') ? text.replace('"v":1', '"v":2') : text,
    ])
    writeFileSync(user.file, JSON.stringify({ v, records: Object.fromEntries(newer) }))
    expect(await user.run('login', ...settings())).toEqual({
      code: 1,
      out: '',
      err: expect.stringContaining('agent-auth: The session was not saved'),
    })
  })
})

describe('a confidential client', () => {
  /** A service with a redirect URI on one port, and a file with the secret of its client. */
  async function confidential() {
    const port = await freePort()
    const redirectUris = [`http://127.0.0.1:${port}/callback`]
    const own = await startService({ dev: 'on', authPort: 0, basePort: 0, redirectUris })
    onTestFinished(() => own.close())
    own.dev.autoApprove(own.people.find(({ tenant }) => tenant === 'demo')?.email)
    const client = own.clients.find(({ kind, tenant }) => kind === 'confidential' && tenant === 'demo')
    const { clientId = '', clientSecret = '' } = client ?? {}
    const secretFile = join(mkdtempSync(join(folder, 'secret-')), 'client-secret')
    writeFileSync(secretFile, `${clientSecret}\n`, { mode: 0o600 })
    const urls = { 'auth-url': own.authUrl, 'base-url': own.baseUrl, 'redirect-uri': redirectUris[0] ?? '' }
    const flags = [...settings({ ...urls, 'client-id': clientId }), `--ports=${port}`]
    return { own, flags, clientId, clientSecret, secretFile, port }
  }

  test('signs in and refreshes with the secret of a file, which it remembers by its path alone', async () => {
    const { own, flags, clientSecret, secretFile } = await confidential()
    const user = machine()
    expect(await user.run('login', ...flags, '--client-secret-file', secretFile)).toMatchObject({ code: 0, err: '' })
    const first = (await user.run('token')).out
    expire(user.file)
    const second = await user.run('token')
    expect({ code: second.code, err: second.err }).toEqual({ code: 0, err: '' })
    expect(second.out).not.toBe(first)
    expect(readFileSync(user.file, 'utf8')).not.toContain(clientSecret)
    const checks = JSON.parse((await user.run('doctor', '--json')).out).checks as { check: string; ok: boolean }[]
    expect(checks.filter(({ ok }) => !ok)).toEqual([])
    expect(own.dev.journal().length).toBeGreaterThan(0)
  })

  test('takes AGENT_CLIENT_SECRET for the client AGENT_CLIENT_ID and for no other', async () => {
    const { flags, clientId, clientSecret } = await confidential()
    const user = machine()
    const env = { AGENT_CLIENT_ID: clientId, AGENT_CLIENT_SECRET: clientSecret }
    expect(await user.runWith(env, 'login', ...flags)).toMatchObject({ code: 0, err: '' })
    const other = machine()
    expect(await other.runWith(env, 'login', ...settings())).toMatchObject({ code: 0, err: '' })
    const empty = { AGENT_CLIENT_ID: settings()[2]?.split('=')[1] ?? '', AGENT_CLIENT_SECRET: '' }
    expect(await other.runWith(empty, 'login', ...settings())).toMatchObject({ code: 0, err: '' })
    const refused = await machine().runWith({ ...env, AGENT_CLIENT_ID: 'other' }, 'login', ...flags)
    expect({ code: refused.code, err: refused.err }).toEqual({
      code: 1,
      err: expect.stringContaining('(client_rejected)'),
    })
    expect(refused.err + refused.out).not.toContain(clientSecret)
  })

  test('sends AGENT_CLIENT_SECRET to the service of AGENT_AUTH_URL and to no other', async () => {
    const { own, flags, clientId, clientSecret } = await confidential()
    const sent: (string | null)[] = []
    const elsewhere = 'https://elsewhere.example.com'
    answerWith(
      http.all(`${elsewhere}/*`, ({ request }) => {
        sent.push(request.headers.get('authorization'))
        return HttpResponse.json({ error: 'invalid_grant' }, { status: 400 })
      }),
    )
    const options = [...flags.filter((flag) => !flag.startsWith('--ports')), `--auth-url=${elsewhere}`]
    const env = { AGENT_CLIENT_ID: clientId, AGENT_CLIENT_SECRET: clientSecret }
    const check = (authUrl: string) => machine().runWith({ ...env, AGENT_AUTH_URL: authUrl }, 'doctor', ...options)
    expect((await check(own.authUrl)).code).toBe(1)
    expect(sent.length).toBeGreaterThan(0)
    expect(sent.filter(Boolean)).toEqual([])
    await check(`${elsewhere}/`)
    expect(sent.filter(Boolean)).toEqual([expect.stringMatching(/^Basic /)])
  })

  test.runIf(process.geteuid)(
    'a secret file that other users can read is named at a login and by doctor, and is used',
    async () => {
      const { flags, clientSecret, secretFile } = await confidential()
      const user = machine()
      chmodSync(secretFile, 0o644)
      const warning = 'agent-auth: other users can read the file of --client-secret-file. Run chmod 600 on it\n'
      const options = [...flags, '--client-secret-file', secretFile]
      expect(await user.run('login', ...options)).toMatchObject({ code: 0, err: warning })
      expect(await user.run('doctor')).toMatchObject({ code: 0, err: warning })
      expect(await user.run('token')).toMatchObject({ code: 0, err: '' })
      chmodSync(secretFile, 0o600)
      const quiet = await user.run('doctor')
      expect(quiet).toMatchObject({ code: 0, err: '' })
      expect(quiet.out).not.toContain(clientSecret)
    },
  )

  test('a secret file that is gone or empty is named, and does not keep the user from a logout', async () => {
    const { flags, clientSecret, secretFile } = await confidential()
    const user = machine()
    // As a shell passes the output of a program, which can be read once.
    const pipe = `${secretFile}.pipe`
    spawn('/bin/sh', ['-c', 'mkfifo -m 600 "$1" && cat "$0" > "$1"', secretFile, pipe])
    await expect.poll(() => existsSync(pipe)).toBe(true)
    const said = expect.stringContaining('is no regular file, so it is not remembered. Log in again when')
    expect(await user.run('login', ...flags, '--client-secret-file', pipe)).toMatchObject({ code: 0, err: said })
    expect(await user.runProcess('token')).toMatchObject({ code: 0, err: '' })
    expect((await user.run('login', ...flags, '--client-secret-file', secretFile)).code).toBe(0)
    writeFileSync(secretFile, '\n')
    expect(await user.run('token')).toMatchObject({ code: 2, err: expect.stringContaining('is empty') })
    rmSync(secretFile)
    const gone = await user.run('token')
    expect({ code: gone.code, err: gone.err }).toEqual({
      code: 2,
      err: expect.stringContaining('--client-secret-file cannot be read (ENOENT)'),
    })
    expect(gone.err).not.toContain(clientSecret)
    expect((await user.run('status')).code).toBe(0)
    expect((await user.run('logout')).code).toBe(0)
    expect(readFileSync(user.file, 'utf8')).not.toContain('refreshToken')
  })

  test('no flag takes the secret itself, because other users can read arguments', async () => {
    const run = await machine().run('login', ...settings(), '--client-secret', 'x')
    expect({ code: run.code, out: run.out }).toEqual({ code: 2, out: '' })
  })
})

const loginAt = (url: string): string[] => ['login', '--auth-url', url, '--base-url', url, '--client-id', 'c']

test.each<[args: string[], code: number, said?: string]>([
  [['--help'], 0],
  [[], 0],
  [['logn'], 2, 'agent-auth: the commands are login, logout, status, whoami, token, fetch, doctor\n'],
  [['token', '--josn'], 2, "agent-auth: Unknown option '--josn'"],
  [['token', 'more'], 2],
  [['token', '--ports', '1'], 2],
  [['fetch', 'GET'], 2],
  [['fetch', 'GET', 'https://evil.test/'], 2],
  [['fetch', 'GET', '//evil.test/'], 2],
  [['fetch', 'GET', '/api/x', '{}'], 2],
  [['fetch', 'TRACE', '/api/x'], 2],
  [[...loginAt('https://a.test'), '--ports', 'x'], 2, '--ports takes numbers'],
  [loginAt('http://agent-service:4001'), 2, '--auth-url must be an https URL, or http on loopback, without user info'],
  [['doctor', '--ports', 'x'], 2, '--ports takes numbers'],
  [['login', '--timeout', '700', '--json'], 2, '--timeout takes seconds from 1 to 600\n'],
  [['login', '--timeout', '600'], 2, 'AGENT_BASE_URL, --client-id or AGENT_PUBLIC_CLIENT_ID.'],
  [['login', '--timeout', '0'], 2, '--timeout takes seconds from 1 to 600\n'],
  [['login', '--ports', '8080,70000'], 2, '--ports takes numbers up to 65535 separated by commas\n'],
  [
    ['login', '--client-id', 'c'],
    2,
    'set --auth-url or AGENT_AUTH_URL, --base-url or AGENT_BASE_URL. A .env file is read only by node --env-file. (',
  ],
  [loginAt('https://a.test').slice(0, -2), 2, 'set --client-id or AGENT_PUBLIC_CLIENT_ID. A .env file'],
  [['login'], 2, 'AGENT_BASE_URL, --client-id or AGENT_PUBLIC_CLIENT_ID.'],
  [['status', '--profile', '../x'], 2],
  [['status'], 3],
])('%j ends with exit code %i', async (args, code, said = code === 0 ? 'Usage: agent-auth' : 'agent-auth: ') => {
  const { out, err, ...run } = await machine().run(...args)
  expect(run.code).toBe(code)
  expect(code === 0 ? out : err).toContain(said)
})

test.runIf(process.platform === 'linux')(
  'a folder that cannot be created ends login and does not hang it',
  async () => {
    const { code, err } = await machine().runProcessWith({ AGENT_AUTH_HOME: '/proc/x/y' }, 'login', ...settings())
    expect(code).toBe(4)
    expect(err).toContain('cannot be used (ENOENT)')
    expect(err).toContain('The storage is /proc/x/y/sessions.json. AGENT_AUTH_HOME sets another folder.')
  },
)

test.runIf(process.geteuid?.() === 0)('a user id without an entry and without HOME is told what to set', async () => {
  const script = `process.setgid(54321); process.setuid(54321); await import(${JSON.stringify(join(folder, 'dist', 'command.mjs'))})`
  chmodSync(folder, 0o755)
  const child = spawn(process.execPath, ['--input-type=module', '-e', script, '--', 'node', 'status'], { env: {} })
  onTestFinished(() => void child.kill('SIGKILL'))
  const { code, err } = await ended(child)
  expect({ code, err }).toEqual({
    code: 2,
    err: 'agent-auth: Configuration: the folder of the sessions must be an absolute path. Set HOME or AGENT_AUTH_HOME. (config_invalid)\n',
  })
})

test.each([
  ['an empty HOME', { HOME: '', AGENT_AUTH_HOME: '' }],
  ['a relative XDG_CONFIG_HOME', { XDG_CONFIG_HOME: '.config', AGENT_AUTH_HOME: '' }],
  ['a relative AGENT_AUTH_HOME', { AGENT_AUTH_HOME: '.config' }],
])('%s is refused, for the current folder may hold sessions that an archive brought', async (_, env) => {
  const { code, err } = await machine().runProcessWith(env, 'status')
  expect(code).toBe(2)
  expect(err).toContain('absolute path')
})

describe('an output that takes no more', () => {
  const shell = (line: string) => {
    const env = { ...machine().env, PATH: '/usr/bin:/bin' }
    return ended(spawn('/bin/sh', ['-c', line, 'sh', process.execPath, join(folder, 'dist', 'command.mjs')], { env }))
  }

  test('because its reader left ends the command quietly', async () => {
    const { err } = await shell('"$1" "$2" --help | true')
    expect(err).toBe('')
    // The pipe is closed before the command writes.
    const { code, err: said } = await shell('(sleep 1; exec "$1" "$2" --help) | true; echo "$?" >&2')
    expect({ code, said }).toEqual({ code: 0, said: '0\n' })
  })

  test.runIf(process.platform === 'linux')('because the disk is full is named in one line', async () => {
    const { code, err } = await shell('exec "$1" "$2" --help >/dev/full')
    expect({ code, err }).toEqual({ code: 1, err: 'agent-auth: the output could not be written (ENOSPC)\n' })
  })
})

test('a logout at the service opens its logout page, and prints the URL if no program opens it', async () => {
  const user = await signedIn()
  expect(await user.runProcess('logout', '--at-service')).toEqual({ code: 0, out: 'default: signed out\n', err: '' })
  const { origin, pathname, searchParams } = new URL(user.opened()[0] ?? '')
  expect({ url: origin + pathname, names: [...searchParams.keys()] }).toEqual({
    url: `${service.authUrl}/auth/v1/logout`,
    names: ['client_id'],
  })
  const noBrowser = { PATH: join(folder, 'bin-without-browser') }
  const { code, err } = await user.runProcessWith(noBrowser, 'logout', '--at-service')
  expect({ code, err }).toEqual({
    code: 0,
    err: expect.stringContaining(`${service.authUrl}/auth/v1/logout?client_id=`),
  })
})

describe('doctor', () => {
  interface DoctorCheck {
    readonly check: string
    readonly ok?: boolean
    readonly cause?: string
    readonly fix?: string
    readonly skipped?: string
  }

  const checksOf = async (user: ReturnType<typeof machine>, ...args: string[]) => {
    const { code, out } = await user.run('doctor', '--json', ...args)
    const { checks } = JSON.parse(out) as { checks: DoctorCheck[] }
    expect(code).toBe(checks.every(({ ok }) => ok !== false) ? 0 : 1)
    return {
      all: checks.map(({ check }) => check),
      bad: checks.filter(({ ok }) => ok === false),
      skipped: checks.filter(({ ok }) => ok === undefined).map(({ check, skipped }) => `${check}: ${skipped}`),
    }
  }

  test('finds nothing wrong with a service that is right', async () => {
    const { all, bad } = await checksOf(machine(), ...settings(), '--origin', 'https://app.demo.example')
    expect(bad).toEqual([])
    expect(all).toEqual(['storage and lock', 'settings', 'authorization server', 'API', 'client', 'login', 'CORS'])
  })

  test.each<[string, Record<string, string>, string]>([
    ['login', { 'redirect-uri': 'https://app.example.com/nowhere' }, 'Register'],
    ['client', { 'client-id': 'unknown' }, '--client-secret-file'],
    ['CORS', { origin: 'https://other.example' }, 'origin'],
    ['login', { scope: 'no.such.scope' }, '--scope'],
    ['settings', { 'auth-url': 'ftp://x' }, '--auth-url'],
    ['settings', { 'base-url': 'https://api.example.com/api' }, '--base-url'],
  ])('finds what is wrong with the %s', async (check, change, fix) => {
    const { bad } = await checksOf(machine(), ...settings(change))
    expect(bad).toEqual([
      expect.objectContaining({ check, cause: expect.any(String), fix: expect.stringContaining(fix) }),
    ])
  })

  test('finds a confidential client, hosts that are swapped and hosts that are away', async () => {
    const { authUrl, baseUrl, clients } = service
    const confidential = clients.find(({ kind }) => kind === 'confidential')?.clientId ?? ''
    expect((await checksOf(machine(), ...settings({ 'client-id': confidential }))).bad).toContainEqual(
      expect.objectContaining({ check: 'client' }),
    )
    const notMade = ['client: no authorization server']
    const ofSwapped = await checksOf(machine(), ...settings({ 'auth-url': baseUrl, 'base-url': authUrl }))
    expect(ofSwapped.skipped).toEqual(notMade)
    const swapped = ofSwapped.bad
    expect(swapped).toContainEqual(
      expect.objectContaining({ check: 'authorization server', fix: expect.stringContaining('Swap') }),
    )
    expect(swapped).toContainEqual(expect.objectContaining({ check: 'API' }))
    const urls = { 'auth-url': 'http://127.0.0.1:1', 'base-url': 'http://127.0.0.1:1' }
    const away = await checksOf(machine(), ...settings(urls), '--origin', 'https://app.demo.example')
    expect(away.skipped).toEqual(notMade)
    expect(away.bad).toEqual(
      ['authorization server', 'API'].map((check) =>
        expect.objectContaining({ check, cause: expect.stringContaining('respond') }),
      ),
    )
  })

  /** Checks a service that refuses a refresh with one error and a login with another one. */
  async function problemsAt(tokenError: string, loginError: string): Promise<DoctorCheck[]> {
    const authUrl = 'https://other.example.com'
    const callback = `http://127.0.0.1/callback?${new URLSearchParams({ error: loginError })}`
    answerWith(
      http.post(`${authUrl}/auth/v1/token`, () => HttpResponse.json({ error: tokenError }, { status: 400 })),
      http.get(`${authUrl}/auth/v1/authorize`, () => HttpResponse.redirect(callback)),
    )
    return (await checksOf(machine(), ...settings({ 'auth-url': authUrl }))).bad
  }

  test('finds another dialect and a request that is refused', async () => {
    const bad = await problemsAt('unsupported_grant_type', 'invalid_request')
    expect(bad.map(({ check }) => check)).toEqual(['client', 'login'])
  })

  test.each([
    ['unauthorized_client', 'check --client-id.'],
    ['invalid_request', 'Check --redirect-uri.'],
    ['invalid_client', 'Check --client-id and --client-secret-file.'],
    ['an error of its own', 'registration'],
  ])('a login that is refused with %s is named', async (error, fix) => {
    const bad = await problemsAt('invalid_grant', error)
    expect(bad).toEqual([{ ok: false, check: 'login', cause: expect.any(String), fix: expect.stringContaining(fix) }])
    expect(bad[0]?.cause?.includes(error)).toBe(!error.includes(' '))
  })

  test('finds a file that other users can read', async () => {
    const user = await signedIn()
    chmodSync(user.file, 0o644)
    const { bad } = await checksOf(user)
    expect(bad).toEqual([
      expect.objectContaining({
        check: 'storage and lock',
        cause: expect.stringContaining('chmod 600'),
        fix: `The storage is ${user.file}. AGENT_AUTH_HOME sets another folder.`,
      }),
    ])
    const token = await user.run('token')
    expect({ code: token.code, err: token.err }).toEqual({
      code: 1,
      err: expect.stringContaining(`\nThe storage is ${user.file}. `),
    })
  })
})
