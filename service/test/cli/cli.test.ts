import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, open, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { freePort } from '../../../test/support/free-port.ts'
import { runInProcess } from '../../../test/support/in-process.ts'
import { listen } from '../../../test/support/listen.ts'
import { printed } from '../../../test/support/printed.ts'
import { serverUrl } from '../../../test/support/servers-client.ts'
import { commandMain } from '../../src/cli/command.ts'
import { startedService } from '../support/processes.ts'
import { open as connect, exchangeBytes, statusOf } from '../support/raw-socket.ts'

let command: string
beforeAll(async () => {
  command = await serverUrl('command')
})

const here = fileURLToPath(new URL('.', import.meta.url))

interface Run {
  child: ChildProcess
  exit: Promise<{ code: number | null; stdout: string; stderr: string }>
}

function run(args: string[], env: Record<string, string> = {}): Run {
  const child = spawn(process.execPath, [command, ...args], { env: { ...process.env, ...env } })
  let stdout = ''
  let stderr = ''
  child.stderr?.on('data', (bytes) => {
    stderr += bytes
  })
  child.stdout?.on('data', (bytes) => {
    stdout += bytes
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const exit = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
  return { child, exit }
}

/** Waits for the text that the command prints when it has started. */
function startText(child: ChildProcess): Promise<string> {
  return printed(child, /[\s\S]*Stop with Ctrl-C\./)
}

/** The same as `run` without a process, which takes a fifth of a second, for arguments that start nothing. */
async function refused(args: string[], env: Record<string, string>): Promise<Awaited<Run['exit']>> {
  const { code, out: stdout, err: stderr } = await runInProcess(commandMain, args, { ...process.env, ...env })
  return { code, stdout, stderr }
}

const freePorts = ['--auth-port', '0', '--base-port', '0']
const byNpm = { npm_lifecycle_event: 'service', npm_package_name: 'agent-auth' }

test.each(['SIGTERM', 'SIGINT'] as const)(
  '--json prints one line with everything, and %s ends it with 0',
  async (signal) => {
    const { child, exit } = run(['--dev', '--json', ...freePorts, '--redirect-uri', 'http://127.0.0.1:7/cb'])
    const { authUrl, people, clients } = await startedService(child)
    expect((await fetch(`${authUrl}/_dev/state`)).status).toBe(200)
    expect(people).toHaveLength(4)
    expect(clients.every(({ redirectUris }) => redirectUris.includes('http://127.0.0.1:7/cb'))).toBe(true)
    child.kill(signal)
    const { code, stdout, stderr } = await exit
    expect(Object.keys(JSON.parse(stdout) as object)).toEqual(['authUrl', 'baseUrl', 'people', 'clients'])
    expect({ code, lines: stdout.trim().split('\n').length, stderr }).toEqual({ code: 0, lines: 1, stderr: '' })
  },
)

test('a truncated answer is half of ours and nothing else, and no failure is printed', async () => {
  const { child, exit } = run(['--dev', '--json', ...freePorts])
  const { authUrl } = await startedService(child)
  const ask = (): Promise<string> => exchangeBytes(authUrl, ['GET /nothing HTTP/1.1', `Host: ${new URL(authUrl).host}`])
  const bodyOf = (answer: string): string => answer.slice(answer.indexOf('\r\n\r\n') + 4)
  const whole = bodyOf(await ask())
  const rule = { match: { path: '/nothing' }, effect: 'truncate', times: 1 }
  const headers = { 'content-type': 'application/json' }
  await fetch(`${authUrl}/_dev/faults`, { method: 'POST', headers, body: JSON.stringify(rule) })
  expect(bodyOf(await ask())).toBe(whole.slice(0, whole.length / 2))
  child.kill('SIGTERM')
  expect(await exit).toMatchObject({ code: 0, stderr: '' })
})

test('the API answers also when file descriptors ran out before its first request', async () => {
  const limited = ['-c', `ulimit -n 64; exec "$0" "$@"`, process.execPath, command, '--json', ...freePorts]
  const child = spawn('bash', limited, { stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const { authUrl, baseUrl } = await startedService(child)
  const get = `GET /openapi.json HTTP/1.1\r\nHost: ${new URL(baseUrl).host}\r\nConnection: close\r\n\r\n`
  const first = connect(baseUrl).on('error', () => {})
  const crowd = Array.from({ length: 80 }, () => connect(authUrl).on('error', () => {}))
  // A process without a descriptor left closes what it can no longer accept.
  await Promise.any(crowd.map((socket) => once(socket.resume(), 'close')))
  first.write(get)
  expect(statusOf(String((await once(first, 'data'))[0]))).toBe(200)
  for (const socket of [...crowd, first]) socket.destroy()
  child.kill('SIGTERM')
  await once(child, 'exit')
})

test('the text shows people, clients and an .env', async () => {
  const { child, exit } = run(freePorts)
  const text = await startText(child)
  for (const part of [
    'ada@demo.example',
    'Demo confidential',
    'secret ',
    'AGENT_AUTH_URL=http://127.0.0.1:',
    'AGENT_CLIENT_SECRET=',
    'Stop with Ctrl-C.',
  ]) {
    expect(text).toContain(part)
  }
  expect(text).toMatch(/\nCOOKIE_SECRET=[\w-]{43}\n/)
  // Whoever is of another tenant would be sent back from the clients of the .env.
  const elsewhere = [...text.matchAll(/\n {2}(\S+@\S+).*\n.*\n {4}of another tenant than the .env: (.*)/g)]
  expect(elsewhere.map(([, email, note]) => ({ email, note }))).toEqual([
    { email: 'ola@other.example', note: 'only for the clients of tenant other' },
  ])
  expect(text).not.toContain('/_dev')
  child.kill('SIGTERM')
  expect((await exit).code).toBe(0)
})

const server = ['AGENT_AUTH_URL', 'AGENT_BASE_URL', 'AGENT_CLIENT_ID', 'AGENT_CLIENT_SECRET', 'COOKIE_SECRET']
const inPage = ['AGENT_AUTH_URL', 'AGENT_BASE_URL', 'AGENT_PUBLIC_CLIENT_ID']

const nextPages = inPage.map((name) => `NEXT_PUBLIC_${name}`)

test.each([
  ['vite', { '.env': inPage.map((name) => `VITE_${name}`), '.env of a backend': server }],
  ['next', { '.env': [...server, ...nextPages] }],
  ['node', { '.env': server }],
])(
  '--env %s prints the names that pages and a backend read, and no secret under a name that reaches pages',
  async (env, files) => {
    const { child, exit } = run(['--env', env, ...freePorts])
    const text = await startText(child)
    child.kill('SIGTERM')
    await exit
    const printed = Object.keys(files).map((file) => {
      const block = (text.split(`\n${file}\n`)[1]?.split('\n\n')[0] ?? '').trim().split('\n')
      return block.map((line) => [line.split('=')[0] ?? '', line.slice(line.indexOf('=') + 1)] as const)
    })
    expect(printed.map((lines) => lines.map(([name]) => name))).toEqual(Object.values(files))
    expect(text.match(/^\.env.*$/gm)).toEqual(Object.keys(files))
    expect(printed.flat().map(([, value]) => value)).not.toContain('')
    const [secret, publicId] = [/secret (\S+)/.exec(text)?.[1], /Demo public.*\n {4}id (\S+)/.exec(text)?.[1]]
    for (const [name, value] of printed.flat()) {
      if (/^(VITE|NEXT_PUBLIC)_/.test(name)) expect({ name, value }).not.toEqual({ name, value: secret })
      if (name.endsWith('PUBLIC_CLIENT_ID')) expect(value).toBe(publicId)
      if (name === 'AGENT_CLIENT_SECRET') expect(value).toBe(secret)
    }
  },
)

test('with --dev the text says where its controls and the description are, and both are there', async () => {
  const { child, exit } = run(['--dev', ...freePorts])
  const text = await startText(child)
  const pages = [...text.matchAll(/^ {2}(?:dev controls|description|API clients) +(\S+)$/gm)].map(([, url = '']) => url)
  const statuses = await Promise.all(pages.map(async (url) => (await fetch(url)).status))
  expect(statuses).toEqual([200, 200, 200])
  child.kill('SIGTERM')
  expect((await exit).code).toBe(0)
})

test.each([
  ['--help', ['--help'], { DATABASE_URL: 'mysql://db' }, 0, 'agent-service [options]'],
  ['an unknown option', ['--bogus'], {}, 2, '--bogus'],
  ['a stray argument', ['start'], {}, 2, 'there is an argument that belongs to no option\n'],
  ['a misspelt action', ['clients', 'lsit', '--data', 'x'], {}, 2, 'clients takes one of create, list, '],
  ['one port twice', ['--auth-port', '4002'], {}, 2, '--auth-port and --base-port are both 4002; they must differ\n'],
  ['where to read on', ['--bogus'], { npm_lifecycle_event: '' }, 2, 'Try agent-service --help'],
  ['the same by npm', ['--bogus'], byNpm, 2, 'Try npm run service -- --help'],
  ['an empty path', ['--data', ''], {}, 2, '--data takes the path of a file\n'],
  [
    'one origin twice',
    [...freePorts, '--auth-url', 'http://a.example', '--base-url', 'http://a.example'],
    {},
    1,
    'agent-service: --auth-url and --base-url must be two different origins\n',
  ],
  [
    'a URL of another database',
    freePorts,
    { DATABASE_URL: 'mysql://h' },
    2,
    'agent-service: DATABASE_URL takes a postgresql:// URL\n',
  ],
  [
    'no redirect URI',
    ['clients', 'create', '--data', 'x', '--tenant', 'demo', '--name', 'x'],
    {},
    2,
    'register 1 to 10 redirect URIs; see --name, --kind and --redirect-uri\n',
  ],
  [
    'no data file',
    ['clients', 'list', '--data', '/nowhere/x.db'],
    {},
    1,
    'there is no data file "/nowhere/x.db"; a start with --data creates it\n',
  ],
  ['--dev in production', ['--dev'], { NODE_ENV: 'production' }, 2, 'leave --dev out, or set another NODE_ENV'],
  ['--dev with a public auth URL', ['--dev', '--auth-url', 'https://auth.example'], {}, 2, 'loopback'],
  ['--dev with a public base URL', ['--dev', '--base-url', 'http://192.0.2.7:4002'], {}, 2, 'loopback'],
  ['a bad redirect URI', ['--redirect-uri', 'javascript:x'], {}, 2, 'use https, or http on 127.0.0.1'],
  ['localhost', ['--redirect-uri', 'http://localhost:5173/cb'], {}, 2, 'write 127.0.0.1 instead of localhost'],
  ['a data file in no folder', [...freePorts, '--data', '/nowhere/at/all.db'], {}, 1, 'its folder does not exist'],
  ['a folder as data file', [...freePorts, '--data', here], {}, 1, 'is not a file'],
  [
    'another file as data file',
    [...freePorts, '--data', fileURLToPath(import.meta.url)],
    {},
    1,
    'is not a SQLite database; choose another path',
  ],
])('%s', async (_, args, env, code, text) => {
  // One that begins to start replaces globals of its process.
  const result = code === 1 ? await run(args, env).exit : await refused(args, env)
  expect(result.code).toBe(code)
  expect(result.stdout + result.stderr).toContain(text)
  expect(result.stdout + result.stderr).not.toMatch(/\n {4}at /)
})

test.each([['--version'], ['-v'], ['clients', '--version'], ['export', '-v']])(
  '%s %s prints the version of the package',
  async (...args) => {
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
    expect(await refused(args.filter(Boolean), {})).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  },
)

test('the process ends with what the command returns', async () => {
  const wrong = await run(['--bogus']).exit
  expect({ code: wrong.code, stdout: wrong.stdout }).toEqual({ code: 2, stdout: '' })
  expect(wrong.stderr).toContain("Unknown option '--bogus'")
})

const printing = [['--help'], ['clients', '--help'], ['--json', ...freePorts]]

test.each(printing)('%s %s: a reader of the output that has gone ends the command quietly', async (...args) => {
  const { child, exit } = run(args)
  child.stdout?.destroy()
  expect(await exit).toEqual({ code: 0, stdout: '', stderr: '' })
})

test.each(printing)('%s %s: a full disk behind the output ends the command with one line', async (...args) => {
  const full = await open('/dev/full', 'w')
  const child = spawn(process.execPath, [command, ...args], { stdio: ['ignore', full.fd, 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stderr?.on('data', (bytes) => {
    said += bytes
  })
  const [code] = await once(child, 'close')
  await full.close()
  const line = 'agent-service: the output could not be written (ENOSPC)\n'
  expect({ code, said }).toEqual({ code: 1, said: line })
})

test.each([['--auth-port'], ['--base-port']])('a port in use is named, with the way out (%s)', async (option) => {
  const taken = createServer()
  const port = await listen(taken)
  const result = await run([...freePorts, option, String(port)]).exit
  taken.close()
  expect({ code: result.code, stdout: result.stdout }).toEqual({ code: 1, stdout: '' })
  expect(result.stderr).toContain(`port ${port} is in use`)
  expect(result.stderr).toContain('--auth-port and --base-port')
})

test.each([
  ['the service', freePorts],
  ['clients', ['clients', 'list']],
])('%s names a PostgreSQL that is not there, and nothing else of its URL', async (_, args) => {
  const port = await freePort()
  const result = await run(args, { DATABASE_URL: `postgresql://anna:hidden@127.0.0.1:${port}/data` }).exit
  expect(result).toEqual({
    code: 1,
    stdout: '',
    stderr: `agent-service: PostgreSQL at 127.0.0.1:${port} was not reached (ECONNREFUSED): start it, or correct DATABASE_URL\n`,
  })
})

test('an .env has no empty line for a secret that only its hash is left of, and says what became of late URIs', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-cli-'))
  const dataFile = join(folder, 'data.db')
  const start = async (...args: string[]) => {
    const { child, exit } = run([...freePorts, '--data', dataFile, '--password-scheme', 'keyed', ...args])
    const text = await startText(child)
    child.kill('SIGTERM')
    return { text, ...(await exit) }
  }
  const first = await start()
  expect(first.text).toMatch(/\nAGENT_CLIENT_SECRET=[\w-]{43}\n/)
  const second = await start('--redirect-uri', 'https://late.example/cb')
  expect(second.text).toContain('AGENT_CLIENT_ID=app_')
  expect(second.text).not.toMatch(/=\n/)
  expect(second.text).toContain('rotate-secret')
  expect({ first: first.stderr, second: second.stderr }).toEqual({
    first: '',
    second: expect.stringContaining(
      `--redirect-uri ignored, because this database already has clients: https://late.example/cb. To add a client, run: agent-service clients create --data ${dataFile}\n`,
    ),
  })
  expect((await readFile(dataFile)).subarray(0, 6).toString()).toBe('SQLite')
  await rm(folder, { recursive: true })
})
