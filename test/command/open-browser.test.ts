// The programs that open a browser: src/command/open-browser.ts.
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { openBrowser } from '../../src/command/open-browser.ts'
import { listen } from '../support/listen.ts'
import { codeOf } from '../support/session-rig.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllEnvs()
})

/** A shell would end the URL at the first `&`. */
const url = 'https://auth.example.com/authorize?client_id=app&scope=api.access'

const platforms: [NodeJS.Platform, program: string, args: string[]][] = [
  ['linux', 'xdg-open', [url]],
  ['darwin', 'open', [url]],
  ['win32', 'rundll32', ['url.dll,FileProtocolHandler', url]],
]

/**
 * Runs `openBrowser` on this platform. Its program sends its arguments, runs until the socket ends, and then exits with the
 * code.
 */
async function opening(platform: NodeJS.Platform, program: string, code: number) {
  const folder = mkdtempSync(join(tmpdir(), 'agent-auth-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const server = createServer()
  const port = await listen(server)
  onTestFinished(() => void server.close())
  const connected = once(server, 'connection') as Promise<[Socket]>
  const source = `const socket = require('node:net').connect(${port}, '127.0.0.1')
socket.resume().on('close', () => process.exit(${code})).write(JSON.stringify(process.argv.slice(2)))`
  writeFileSync(join(folder, program), `#!${process.execPath}\n${source}\n`, { mode: 0o755 })
  vi.stubEnv('PATH', folder)
  const before = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor
  Object.defineProperty(process, 'platform', { ...before, value: platform })
  onTestFinished(() => void Object.defineProperty(process, 'platform', before))
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const settled = codeOf(openBrowser(url))
  const [socket] = await connected
  onTestFinished(() => void socket.destroy())
  const [args] = await once(socket, 'data')
  return { settled, args: JSON.parse(String(args)) as string[], end: () => void socket.end() }
}

test.each(platforms)('on %s, a program %s that fails late is a failure', async (platform, program) => {
  const { settled, end } = await opening(platform, program, 3)
  await vi.advanceTimersByTimeAsync(60_000)
  end()
  expect(await settled).toMatchObject({ message: 'no browser' })
})

test.each(platforms)(
  'on %s, a program %s gets the whole URL, and is no failure if it ends well',
  async (platform, program, given) => {
    const { settled, args, end } = await opening(platform, program, 0)
    end()
    expect({ settled: await settled, args }).toEqual({ settled: { resolved: undefined }, args: given })
  },
)
