import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { networkInterfaces } from 'node:os'
import { type AuthConfig, createAuthConfig } from 'agent-auth'
import { type LoopbackOptions, signInWithLoopback } from 'agent-auth/node'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { deferred } from '../../src/internal/timeouts.ts'
import { lastPageMs } from '../../src/node/loopback/sign-in.ts'
import { secret } from '../support/canary.ts'
import { freePort } from '../support/free-port.ts'
import { openedUrl } from '../support/opened-url.ts'
import { codeOf } from '../support/session-rig.ts'

const registered = 'http://127.0.0.1/callback'
const signedIn = { resolved: expect.objectContaining({ accessToken: expect.any(String) }) }

function configWith(
  redirectUri = registered,
  fetch: typeof globalThis.fetch = async () => tokenResponse(),
): AuthConfig {
  const urls = { authUrl: 'https://auth.example.com', baseUrl: 'https://api.example.com' }
  return createAuthConfig({ ...urls, clientId: 'tool', redirectUri, fetch })
}

function tokenResponse(): Response {
  return Response.json({ access_token: secret('access'), refresh_token: secret('refresh'), expires_in: 3_600 })
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
}

/** Sends one request, whose target may be any text, and follows nothing. */
function send(url: string, target?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { agent: false, ...(target !== undefined && { path: target }) }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers }))
    })
      .on('error', reject)
      .end()
  })
}

/** A login that has opened its URL. `settled` never rejects. */
async function started(config = configWith(), options: LoopbackOptions = {}) {
  const { promise, resolve } = deferred<string>()
  const settled = codeOf(signInWithLoopback(config, { openBrowser: resolve, ...options }))
  const authorizeUrl = new URL(await openedUrl(await promise))
  const redirectUri = authorizeUrl.searchParams.get('redirect_uri') ?? ''
  const state = authorizeUrl.searchParams.get('state') ?? ''
  const callback = `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}code=${secret('code')}&state=${state}`
  return { settled, redirectUri, state, callback, origin: new URL(redirectUri).origin }
}

/** The same on a port that no other test is given after it was closed. */
async function startedOnFreePort() {
  return started(configWith(), { ports: [await freePort()] })
}

/** Timers that only the test lets pass, so that no port closes before its last page was asked for. Sockets go on. */
function holdTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
}

describe('the end of a login', () => {
  test('comes with the last page, without a wait, and the port is closed by then', async () => {
    holdTimers()
    const { settled, callback, origin } = await startedOnFreePort()
    expect(await send(callback)).toMatchObject({ status: 303, headers: { location: '/callback/done' } })
    expect((await send(`${origin}/callback/done`)).status).toBe(200)
    // No timer can end it.
    expect(await settled).toEqual(signedIn)
    await expect(send(origin)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('does not need the last page, for which the port stays open a short while', async () => {
    holdTimers()
    const { settled, callback, origin } = await startedOnFreePort()
    const isSettled = vi.fn()
    void settled.then(isSettled)
    expect((await send(callback)).status).toBe(303)
    await vi.advanceTimersByTimeAsync(lastPageMs - 1)
    // The port still responds, and other requests change nothing.
    expect((await send(`${origin}/callback?code=x&state=wrong`)).status).toBe(400)
    expect(isSettled).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(lastPageMs)
    expect(await settled).toEqual(signedIn)
    await expect(send(origin)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })
})

describe('a request', () => {
  test('whose target is of another origin, or no URL, is answered with 400 and changes nothing', async () => {
    holdTimers()
    const { settled, callback, origin } = await started()
    const { search } = new URL(callback)
    expect((await send(origin, `http://evil.test/callback${search}`)).status).toBe(400)
    expect((await send(origin, 'http://evil.test/callback/done')).status).toBe(400)
    expect((await send(origin, 'http://[')).status).toBe(400)
    await send(callback)
    await send(`${origin}/callback/done`)
    expect(await settled).toEqual(signedIn)
  })

  test.each([
    ['http://127.0.0.1/', '/done'],
    ['http://127.0.0.1/a/', '/a/done'],
    ['http://127.0.0.1/a?app=1', '/a/done'],
  ])('at the redirect URI %s is redirected to %s', async (uri, lastPage) => {
    holdTimers()
    const { settled, redirectUri, callback, origin } = await started(configWith(uri))
    expect(redirectUri).toBe(origin + uri.slice('http://127.0.0.1'.length))
    expect((await send(callback)).headers.location).toBe(lastPage)
    expect((await send(origin + lastPage)).status).toBe(200)
    expect(await settled).toEqual(signedIn)
  })

  const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'))
  test.runIf(hasIpv6)('reaches a redirect URI at [::1], with the brackets of a URL', async () => {
    holdTimers()
    const { settled, redirectUri, callback, origin } = await started(configWith('http://[::1]/callback'))
    expect(redirectUri).toMatch(/^http:\/\/\[::1\]:\d+\/callback$/)
    expect((await send(callback)).status).toBe(303)
    expect((await send(`${origin}/callback/done`)).status).toBe(200)
    expect(await settled).toEqual(signedIn)
  })
})

test('a request for the tokens ends at its own time limit, although the login still waits for the browser', async () => {
  holdTimers()
  const signals: (AbortSignal | null | undefined)[] = []
  const config = configWith(registered, (_, init) => {
    signals.push(init?.signal)
    return new Promise(() => {})
  })
  const { settled, callback } = await started(config)
  await send(callback)
  await expect.poll(() => signals.length).toBe(1)
  await vi.advanceTimersByTimeAsync(config.timeoutMs)
  expect(signals.map((signal) => signal?.aborted)).toEqual([true])
  await vi.advanceTimersByTimeAsync(lastPageMs)
  expect(await settled).toBe('exchange_interrupted')
})
