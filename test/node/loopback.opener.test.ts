// A program that opens no browser and does not say so at once.
import { PassThrough } from 'node:stream'
import { createAuthConfig } from 'agent-auth'
import { type LoopbackOptions, signInWithLoopback } from 'agent-auth/node'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { browserWaitMs } from '../../src/node/loopback/sign-in.ts'
import { secret } from '../support/canary.ts'
import { openedUrl } from '../support/opened-url.ts'
import { codeOf } from '../support/session-rig.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const tokens = (): Response => Response.json({ access_token: secret('access'), expires_in: 3_600 })

/** A login whose browser was opened by `opener`. `settled` never rejects. */
async function started(
  opener: () => unknown,
  options: LoopbackOptions = {},
  fetch: typeof globalThis.fetch = async () => tokens(),
) {
  const urls = { authUrl: 'https://auth.example.com', baseUrl: 'https://api.example.com' }
  const config = createAuthConfig({ ...urls, clientId: 'tool', redirectUri: 'http://127.0.0.1/callback', fetch })
  const screen = { input: new PassThrough(), output: new PassThrough() }
  let text = ''
  screen.output.on('data', (chunk) => {
    text += chunk
  })
  let onOpened = (_: string): void => {}
  const opened = new Promise<string>((resolve) => {
    onOpened = resolve
  })
  const openBrowser = (url: string): unknown => {
    onOpened(url)
    return opener()
  }
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const login = signInWithLoopback(config, { openBrowser, terminal: screen, signal: stop.signal, ...options })
  const settled = codeOf(login)
  const url = await openedUrl(await opened)
  const { redirect_uri, state } = Object.fromEntries(new URL(url).searchParams)
  return {
    ...screen,
    url,
    callback: `${redirect_uri}?code=${secret('code')}&state=${state}`,
    login,
    settled,
    stop,
    text: () => text,
    urls: () => text.split(url).length - 1,
  }
}

const failsAfter = (ms: number) => () =>
  new Promise((_, reject) => setTimeout(() => reject(new Error('no browser')), ms))

const openers: [does: string, opener: () => unknown][] = [
  ['never settles', () => new Promise(() => {})],
  ['resolves and shows nothing', async () => {}],
  ['rejects after 4 s', failsAfter(4_000)],
]

describe('the URL is printed once, for the user to open,', () => {
  test.each(openers)('if no callback has come 3 s after openBrowser, which %s', async (_, opener) => {
    const { settled, input, text, url, urls, callback } = await started(opener)
    await vi.advanceTimersByTimeAsync(browserWaitMs - 1)
    expect(text()).toBe('')
    await vi.advanceTimersByTimeAsync(1)
    expect(text()).toBe(
      `If no browser opened, open this URL in a browser on any machine:\n\n  ${url}\n\nIf the last page cannot be shown, paste its URL here and press Enter. Its code expires soon.\n`,
    )
    await vi.advanceTimersByTimeAsync(60_000)
    expect({ urlsCount: urls(), promptsCount: text().split('press Enter').length - 1 }).toEqual({
      urlsCount: 1,
      promptsCount: 1,
    })
    input.write(`${callback}\n`)
    expect(await settled).toHaveProperty('resolved')
    expect(input.isPaused()).toBe(true)
  })

  test('if openBrowser rejects before', async () => {
    const { text, urls } = await started(failsAfter(1_000))
    await vi.advanceTimersByTimeAsync(1_000)
    expect(text()).toContain('Open this URL')
    await vi.advanceTimersByTimeAsync(60_000)
    expect({ urlsCount: urls(), promptsCount: text().split('press Enter').length - 1 }).toEqual({
      urlsCount: 1,
      promptsCount: 1,
    })
  })
})

test('nothing is printed after the callback, also while the code is exchanged', async () => {
  let respond = (): void => {}
  const response = new Promise<Response>((resolve) => {
    respond = () => resolve(tokens())
  })
  const exchange = vi.fn(() => response)
  const { settled, text, callback } = await started(failsAfter(4_000), {}, exchange)
  const page = await fetch(callback, { redirect: 'manual' })
  await (await fetch(new URL(page.headers.get('location') ?? '', callback))).text()
  await expect.poll(() => exchange.mock.calls.length).toBe(1)
  await vi.advanceTimersByTimeAsync(5_000)
  respond()
  expect(await settled).toHaveProperty('resolved')
  expect(text()).toBe('')
})

describe('a browser that may have opened', () => {
  test.each([
    [undefined, false],
    [true, true],
  ])('leaves stdin to the tool, unless it is a terminal (isTTY %s)', async (isTTY, isRead) => {
    const stdin = Object.assign(new PassThrough(), { isTTY })
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(stdin as never)
    let printed = ''
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      printed += String(text)
      return true
    })
    let fail = (): void => {}
    const browser = new Promise((_, reject) => {
      fail = () => reject(new Error('no browser'))
    })
    const { settled, url, callback } = await started(() => browser, { terminal: undefined })
    stdin.write(isRead ? 'typed\n' : 'input of the tool\n')
    await vi.advanceTimersByTimeAsync(browserWaitMs)
    expect(printed).toContain(`  ${url}\n`)
    expect(printed.includes('press Enter')).toBe(isRead)
    expect(stdin.readableLength > 0).toBe(!isRead)
    // Without a browser, the callback can only be pasted.
    fail()
    await expect.poll(() => printed).toContain('press Enter')
    stdin.write(`${callback}\n`)
    expect(await settled).toHaveProperty('resolved')
    expect(printed.split(url).length).toBe(2)
  })
})
