import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startService } from 'agent-service'
import { expect, onTestFinished, test, vi } from 'vitest'

/** Runs the tool of the quick start as a process does: with its arguments, and the module read again. */
async function runTool(...args: string[]): Promise<{ lines: unknown[][]; code: unknown }> {
  const lines: unknown[][] = []
  const spies = (['log', 'error'] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((...words) => void lines.push(words)),
  )
  const { argv } = process
  process.argv = ['node', 'tool.mjs', ...args]
  try {
    const file = new URL('../../docs/snippets/tool.mjs', import.meta.url).pathname
    await import(`${file}?${crypto.randomUUID()}`)
    return { lines, code: process.exitCode }
  } finally {
    process.argv = argv
    process.exitCode = undefined
    for (const spy of spies) spy.mockRestore()
  }
}

/** Starts a service, and approves each login whose URL the tool prints, as a user in a browser does. */
async function startRig() {
  const home = mkdtempSync(join(tmpdir(), 'tool-'))
  const service = await startService({ dev: 'on', authPort: 0, basePort: 0 })
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
    rmSync(home, { recursive: true })
    await service.close()
  })
  vi.stubEnv('HOME', home)
  vi.stubEnv('AGENT_AUTH_URL', service.authUrl)
  vi.stubEnv('AGENT_BASE_URL', service.baseUrl)
  vi.stubEnv('AGENT_PUBLIC_CLIENT_ID', service.clients.find(({ name }) => name === 'Demo public')?.clientId)
  service.dev.autoApprove(service.people.find(({ tenant }) => tenant === 'demo')?.email)
  // Follows the URL that the tool prints, as the browser does.
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    const url = /http:\S+\/authorize\S+/.exec(String(text))?.[0]
    if (url !== undefined) void fetch(url)
    return true
  })
  return { home, folder: join(home, '.config', 'my-tool'), authUrl: service.authUrl }
}

const withoutLogin = { lines: [['Run "login" first.']], code: 1 }

test('the tool of the quick start says what is missing, signs in, lists agents and signs out', async () => {
  const { authUrl } = await startRig()
  vi.stubEnv('AGENT_AUTH_URL', undefined)
  expect(await runTool('login')).toEqual({ lines: [['Configuration: authUrl is missing.']], code: 1 })
  vi.stubEnv('AGENT_AUTH_URL', authUrl)
  expect(await runTool('agents')).toEqual(withoutLogin)
  expect(await runTool()).toEqual({ lines: [['Use "login", "whoami", "agents" or "logout".']], code: 1 })
  expect(await runTool('login')).toEqual({ lines: [['Signed in.']], code: undefined })
  expect(await runTool('whoami')).toEqual({ lines: [[expect.stringMatching(/^person_/)]], code: undefined })
  expect((await runTool('agents')).lines).toHaveLength(5)
  expect(await runTool('logout')).toEqual({ lines: [['Signed out.']], code: undefined })
  expect(await runTool('agents')).toEqual(withoutLogin)
})

test('the tool of the quick start starts no login that its file could not keep', async () => {
  const { folder } = await startRig()
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(join(folder, 'sessions.json'), '', { mode: 0o600 })
  chmodSync(join(folder, 'sessions.json'), 0o644)
  const { lines, code } = await runTool('login')
  expect(lines).toEqual([[expect.stringContaining('chmod 600')]])
  expect(code).toBe(1)
  rmSync(folder, { recursive: true })
  writeFileSync(folder, '')
  expect((await runTool('login')).code).toBe(1)
})

test('the tool of the quick start prints no success if nothing was saved', async () => {
  const { folder } = await startRig()
  await runTool('login')
  const file = join(folder, 'sessions.json')
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('\\"v\\":1', '\\"v\\":2'))
  const { lines, code } = await runTool('login')
  expect(lines).toEqual([['The session was not saved.']])
  expect(code).toBe(1)
})

test('the tool of the quick start is a module in the folder that npm init makes', () => {
  const page = readFileSync(new URL('../../docs/start/cli.md', import.meta.url), 'utf8')
  const [, name = '', code = ''] = /^Create `([\w.]+)`:\n\n```js\n(.*?)^```$/ms.exec(page) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'tool-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{"name":"my-tool","type":"commonjs"}')
  writeFileSync(join(folder, name), code)
  expect(code).toContain('signInWithLoopback')
  // It throws if Node cannot read the file.
  execFileSync(process.execPath, ['--check', name], { cwd: folder, stdio: 'pipe' })
})
