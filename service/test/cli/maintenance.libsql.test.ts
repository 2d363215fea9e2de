import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { lstat, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serverUrl } from '../../../test/support/servers-client.ts'
import { commandMain } from '../../src/cli/command.ts'
import type { Service } from '../../src/index.ts'
import {
  agentSearch,
  authorizeUrl,
  Browser,
  callApi,
  clientOf,
  login,
  personOf,
  refresh,
  signInPath,
} from '../support/login.ts'
import { startService } from '../support/start.ts'

const email = 'ada@demo.example'

async function folderWithService(): Promise<{ folder: string; dataFile: string; service: Service }> {
  const folder = await mkdtemp(join(tmpdir(), 'agent-service-maintenance-'))
  const dataFile = join(folder, 'data.db')
  const service = await startService({ dataFile, passwordScheme: 'keyed' })
  onTestFinished(async () => {
    await service.close()
    await rm(folder, { recursive: true })
  })
  return { folder, dataFile, service }
}

interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

async function run(args: string[], input = '', cwd = process.cwd()): Promise<Ran> {
  const child = spawn(process.execPath, [await serverUrl('command'), ...args], { cwd })
  child.stdin.end(input)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stdout, stderr }
}

/** The same without a process. */
async function inProcess(args: string[]): Promise<{ code: number; said: string }> {
  const written: unknown[] = []
  const keep = (chunk: unknown): boolean => written.push(chunk) > 0
  const spies = [process.stdout, process.stderr].map((stream) => vi.spyOn(stream, 'write').mockImplementation(keep))
  try {
    return { code: await commandMain(args), said: written.join('') }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

async function canSignIn(service: Service, password: string): Promise<boolean> {
  const browser = new Browser(service.fetch)
  const page = await browser.submit(await browser.get(authorizeUrl(service).url), signInPath, { email, password })
  return page.status === 200
}

test('backup copies a data file under a running service, for its owner only, and a service starts on the copy', async () => {
  const { folder, dataFile, service } = await folderWithService()
  const client = clientOf(service, 'Demo public')
  const { refresh_token: token } = await login(service, { client })
  const copy = join(folder, 'copy.db')
  expect(await inProcess(['backup', copy, '--data', dataFile])).toEqual({ code: 0, said: `copied to ${copy}\n` })
  expect((await stat(copy)).mode & 0o777).toBe(0o600)
  const restored = await startService({ dataFile: copy })
  onTestFinished(restored.close)
  expect((await refresh(restored, client, token)).status).toBe(200)
  // The copy is a database of its own.
  expect((await refresh(service, client, token)).status).toBe(200)
})

test('backup overwrites nothing, and leaves nothing where it fails', async () => {
  const { folder, dataFile } = await folderWithService()
  const before = (await readdir(folder)).sort()
  expect(await inProcess(['backup', dataFile, '--data', dataFile])).toEqual({
    code: 1,
    said: `agent-service: the file ${JSON.stringify(dataFile)} exists already; choose another path\n`,
  })
  const { code, said } = await inProcess(['backup', join(folder, 'no', 'copy.db'), '--data', dataFile])
  expect({ code, said }).toEqual({ code: 1, said: expect.stringContaining('its folder does not exist') })
  const missing = join(folder, 'none.db')
  expect(await inProcess(['backup', join(folder, 'copy.db'), '--data', missing])).toEqual({
    code: 1,
    said: `agent-service: there is no data file ${JSON.stringify(missing)}; a start with --data creates it\n`,
  })
  expect((await readdir(folder)).sort()).toEqual(before)
})

test('backup takes a name that SQLite would take for a URL as that of a file', async () => {
  const { folder, dataFile } = await folderWithService()
  const before = await readdir(folder)
  expect(await run(['backup', 'file:copy.db', '--data', dataFile], '', folder)).toMatchObject({ code: 0, stderr: '' })
  expect((await readdir(folder)).filter((name) => !before.includes(name))).toEqual(['file:copy.db'])
  expect((await stat(join(folder, 'file:copy.db'))).size).toBeGreaterThan(0)
})

test('reset-password prints a new password once, and ends sign-in sessions and tokens of this user alone', async () => {
  const { dataFile, service } = await folderWithService()
  const client = clientOf(service, 'Demo public')
  const browser = new Browser(service.fetch)
  const tokens = await login(service, { client, browser })
  const others = await login(service, { client, person: personOf(service, 'rui') })
  const session = await service.dev.mintSessionToken(email)
  const { code, stdout, stderr } = await run(['reset-password', email, '--data', dataFile])
  const [, password = ''] = /^ada@demo\.example: password ([\w-]{43})\n$/.exec(stdout) ?? []
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect({
    earlier: await canSignIn(service, personOf(service, 'ada').password),
    printed: await canSignIn(service, password),
  }).toEqual({ earlier: false, printed: true })
  expect((await browser.get(authorizeUrl(service).url)).html).toContain('name="password"')
  const status = async (token: string) => (await callApi(service, { token, path: agentSearch, body: {} })).status
  expect({
    login: await status(tokens.access_token),
    session: await status(session),
    otherUser: await status(others.access_token),
  }).toEqual({ login: 401, session: 401, otherUser: 200 })
  expect((await refresh(service, client, tokens.refresh_token)).status).toBe(400)
  expect((await refresh(service, client, others.refresh_token)).status).toBe(200)
})

test('reset-password takes a password from the standard input, and does not print it', async () => {
  const { dataFile, service } = await folderWithService()
  const args = ['reset-password', email, '--data', dataFile, '--stdin']
  const short = await run(args, 'short\n')
  expect({ code: short.code, stderr: short.stderr }).toEqual({
    code: 1,
    stderr: 'agent-service: a password has 8 to 1024 characters\n',
  })
  const { code, stdout } = await run(args, 'correct horse battery\n')
  expect({ code, stdout }).toEqual({ code: 0, stdout: `${email}: done\n` })
  expect(await canSignIn(service, 'correct horse battery')).toBe(true)
})

test.each([
  ['backup', [], 'backup needs --data FILE'],
  ['backup', ['a', 'b', '--data', 'x'], 'backup takes the path of one new file'],
  ['backup', ['a', '--date', 'x'], "Unknown option '--date'"],
  ['reset-password', ['--data', 'x'], 'takes the email address of one user'],
  ['reset-password', [email], 'needs --data FILE or DATABASE_URL'],
  ['reset-password', [email, '--sdtin'], "Unknown option '--sdtin'"],
])('%s (%#): wrong arguments are named, with exit code 2', async (name, args, problem) => {
  const { code, said } = await inProcess([name, ...args])
  expect({ code, said }).toEqual({ code: 2, said: expect.stringContaining(problem) })
  expect(said).toContain(`Try agent-service ${name} --help\n`)
})

test.each(['backup', 'reset-password', 'export'])('%s --help says what it does and its exit codes', async (name) => {
  const { code, said } = await inProcess([name, '--help'])
  expect({ code, firstLine: said.split('\n')[0] }).toEqual({
    code: 0,
    firstLine: expect.stringContaining(`agent-service ${name}: `),
  })
  expect(said).toContain('Exit codes: 0')
})

test('export replaces no device, pipe or socket, such as /dev/null', async () => {
  const { folder, dataFile } = await folderWithService()
  const path = join(folder, 's')
  const server = createServer().listen(path)
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { code, said } = await inProcess(['export', '--data', dataFile, '--out', path])
  expect({ code, said }).toEqual({
    code: 1,
    said: `agent-service: the export could not be written to ${JSON.stringify(path)} (no file); nothing was changed there\n`,
  })
  expect((await lstat(path)).isSocket()).toBe(true)
})
