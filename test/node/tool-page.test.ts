import { mkdtempSync, rmSync } from 'node:fs'
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

test('the tool of the quick start says what is missing, signs in, lists agents and signs out', async () => {
  const home = mkdtempSync(join(tmpdir(), 'tool-'))
  const service = await startService({ dev: 'on', authPort: 0, basePort: 0 })
  onTestFinished(async () => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
    rmSync(home, { recursive: true })
    await service.close()
  })
  vi.stubEnv('HOME', home)
  vi.stubEnv('AGENT_AUTH_URL', undefined)
  expect(await runTool('login')).toEqual({ lines: [['Configuration: authUrl is missing.']], code: 1 })

  vi.stubEnv('AGENT_AUTH_URL', service.authUrl)
  vi.stubEnv('AGENT_BASE_URL', service.baseUrl)
  vi.stubEnv('AGENT_PUBLIC_CLIENT_ID', service.clients.find(({ name }) => name === 'Demo public')?.clientId)
  expect(await runTool('agents')).toEqual({ lines: [['Run "login" first.']], code: 1 })
  expect(await runTool()).toEqual({ lines: [['Use "login", "agents" or "logout".']], code: 1 })

  service.dev.autoApprove(service.people.find(({ tenant }) => tenant === 'demo')?.email)
  // Follows the URL that the tool prints, as the browser does.
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    const url = /http:\S+\/authorize\S+/.exec(String(text))?.[0]
    if (url !== undefined) void fetch(url)
    return true
  })
  expect(await runTool('login')).toEqual({ lines: [['Signed in.']], code: undefined })
  expect((await runTool('agents')).lines).toHaveLength(5)
  expect(await runTool('logout')).toEqual({ lines: [['Signed out.']], code: undefined })
  expect(await runTool('agents')).toEqual({ lines: [['Run "login" first.']], code: 1 })
})
