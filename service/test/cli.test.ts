import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url))

interface Run {
  child: ChildProcess
  firstOutput: Promise<string>
  exit: Promise<{ code: number | null; stdout: string; stderr: string }>
}

function run(args: string[], env: Record<string, string> = {}): Run {
  const child = spawn(process.execPath, ['--import', 'tsx', cli, ...args], { env: { ...process.env, ...env } })
  let stdout = ''
  let stderr = ''
  child.stderr?.on('data', (bytes) => {
    stderr += bytes
  })
  const firstOutput = new Promise<string>((resolve) => {
    child.stdout?.on('data', (bytes) => {
      stdout += bytes
      resolve(stdout)
    })
  })
  const exit = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })
  return { child, firstOutput, exit }
}

const freePorts = ['--auth-port', '0', '--base-port', '0']

test.each(['SIGTERM', 'SIGINT'] as const)(
  '--json prints one line with everything, and %s ends it with 0',
  async (signal) => {
    const { child, firstOutput, exit } = run([
      '--dev',
      '--json',
      ...freePorts,
      '--redirect-uri',
      'http://127.0.0.1:7/cb',
    ])
    const printed = JSON.parse(await firstOutput) as {
      authUrl: string
      people: object[]
      clients: { redirectUris: string[] }[]
    }
    expect((await fetch(`${printed.authUrl}/_dev/state`)).status).toBe(200)
    expect(printed.people).toHaveLength(4)
    expect(printed.clients.every(({ redirectUris }) => redirectUris.includes('http://127.0.0.1:7/cb'))).toBe(true)
    child.kill(signal)
    const { code, stdout, stderr } = await exit
    expect([code, stdout.trim().split('\n').length, stderr]).toEqual([0, 1, ''])
  },
  20_000,
)

test('the text shows people, clients and an .env', async () => {
  const { child, firstOutput, exit } = run(freePorts)
  const text = await firstOutput
  for (const part of [
    'ada@demo.example',
    'Demo confidential',
    'secret ',
    'AGENT_AUTH_URL=http://127.0.0.1:',
    'AGENT_CLIENT_SECRET=',
  ]) {
    expect(text).toContain(part)
  }
  child.kill('SIGTERM')
  expect((await exit).code).toBe(0)
}, 20_000)

test.each([
  ['--help', ['--help'], {}, 0, 'agent-service [options]'],
  ['an unknown option', ['--bogus'], {}, 2, '--bogus'],
  ['a bad port', ['--auth-port', '70000'], {}, 2, '--auth-port'],
  ['S-084 --dev in production', ['--dev'], { NODE_ENV: 'production' }, 2, 'production'],
  ['a bad redirect URI', [...freePorts, '--redirect-uri', 'javascript:x'], {}, 1, 'redirect URI'],
  ['a data file that cannot be', [...freePorts, '--data', '/nowhere/at/all.db'], {}, 1, 'agent-service: '],
])(
  '%s',
  async (_, args, env, code, text) => {
    const result = await run(args, env).exit
    expect(result.code).toBe(code)
    expect(result.stdout + result.stderr).toContain(text)
  },
  20_000,
)
