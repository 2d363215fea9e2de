// What a login says before the user is in the browser.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { commandMain } from '../../src/command/command.ts'
import { login, requireServer } from '../../src/command/login.ts'
import { defaultLoopbackMs } from '../../src/node/loopback/sign-in.ts'
import { refusingOrigin } from '../support/free-port.ts'
import { listen } from '../support/listen.ts'
import { configWith, failure } from '../support/token-flow.ts'

let written: string
beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'agent-auth-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'xdg-open'), '#!/bin/sh\nexit 0\n')
  chmodSync(join(folder, 'xdg-open'), 0o755)
  vi.stubEnv('AGENT_AUTH_HOME', join(folder, 'home'))
  vi.stubEnv('PATH', folder)
  written = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    written += String(text)
    return true
  })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

const loginAt = (url: string) =>
  failure(
    login({
      name: 'login',
      profile: 'default',
      output: 'text',
      flags: { 'auth-url': url, 'base-url': url, 'client-id': 'c', timeout: '1' },
      rest: [],
    }),
  )

async function server(): Promise<string> {
  const app = createServer((_, response) => response.writeHead(404).end())
  onTestFinished(() => void app.close())
  return `http://127.0.0.1:${await listen(app)}`
}

test('a login at an address where nothing runs ends before the browser opens, and names the option', async () => {
  const url = await refusingOrigin()
  expect(await loginAt(url)).toMatchObject({
    code: 'temporarily_unavailable',
    message: `${url} was not reached (ECONNREFUSED). Check --auth-url, and that the service runs.`,
    retryable: true,
  })
  expect(written).toBe('')
})

test.each<[what: string, fetch: typeof globalThis.fetch]>([
  ['that sends another status', async () => new Response('', { status: 500 })],
  [
    'that does not respond in time',
    (_, init) => new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))),
  ],
  ['whose certificate is unknown here', () => Promise.reject(new TypeError('x', { cause: { code: 'ESOMETHING' } }))],
  ['whose failure has a code that is no text', () => Promise.reject(new TypeError('x', { cause: { code: Symbol() } }))],
])('a server %s is not refused, because its page may say more', async (_, fetch) => {
  await requireServer(configWith({ fetch }), 10)
})

test.each([true, false])(
  'on a terminal (%s), a login says at once what to do if the browser shows an error',
  async (isTTY) => {
    const before = Object.getOwnPropertyDescriptor(process.stderr, 'isTTY')
    Object.defineProperty(process.stderr, 'isTTY', { value: isTTY, configurable: true })
    onTestFinished(() => {
      if (before) Object.defineProperty(process.stderr, 'isTTY', before)
      else Reflect.deleteProperty(process.stderr, 'isTTY')
    })
    const url = await server()
    expect(await loginAt(url)).toMatchObject({ code: 'timeout' })
    expect(written).toBe(
      isTTY
        ? `agent-auth: Sign in at ${url}. If the browser shows an error, press Ctrl-C and run agent-auth doctor with the same options.\n`
        : '',
    )
  },
)

test('a login whose browser shows nothing prints the URL once, and names --no-browser at the end', async () => {
  const url = await server()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const exitCode = commandMain(['login', '--auth-url', url, '--base-url', url, '--client-id', 'c'])
  const passed = async (): Promise<string> => {
    await vi.advanceTimersByTimeAsync(1_000)
    return written
  }
  await expect.poll(passed).toContain('If no browser opened, open this URL')
  await vi.advanceTimersByTimeAsync(defaultLoopbackMs)
  expect(await exitCode).toBe(1)
  expect(written.split('/authorize?').length).toBe(2)
  expect(written).toContain('Run agent-auth login again, with --timeout 600 or --no-browser. (timeout)')
})
