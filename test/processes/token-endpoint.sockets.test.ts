import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import type { AuthConfig, AuthConfigOptions } from '../../src/config.ts'
import type { AuthEvent } from '../../src/events.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { assertNoLeak, secret } from '../support/canary.ts'
import { nextWord, startChild } from '../support/children.ts'
import { refusingOrigin } from '../support/free-port.ts'
import { configWith, failure, grantFor, tokensWith } from '../support/token-flow.ts'
import {
  endless,
  gzipBomb,
  raw,
  redirect,
  reset,
  respond,
  type Script,
  type Step,
  stall,
  startWire,
  trickle,
  truncate,
  type Wire,
} from '../support/wire.ts'

const wires: Wire[] = []
afterEach(async () => {
  await Promise.all(wires.splice(0).map((wire) => wire.close()))
})

async function serve(script: Script): Promise<Wire> {
  const wire = await startWire(script)
  wires.push(wire)
  return wire
}

type Grant = 'exchange' | 'refresh'
const both: Grant[] = ['exchange', 'refresh']

async function call(grant: Grant, config: AuthConfig) {
  return grant === 'exchange' ? exchangeCode(config, await grantFor(config)) : refreshTokens(config, tokensWith())
}

function configFor(wire: Wire, options: Partial<AuthConfigOptions> = {}): AuthConfig {
  return configWith({ authUrl: wire.url, timeoutMs: 60_000, ...options })
}

/** How each grant reports an answer that was lost on the way. */
const lost = {
  exchange: { code: 'exchange_interrupted', retryable: false, details: { outcome: 'ambiguous' } },
  refresh: { code: 'temporarily_unavailable', retryable: true, details: { outcome: 'ambiguous' } },
}
const late = { exchange: lost.exchange, refresh: { code: 'timeout', retryable: true } }

/** Each connection that carried a request is gone; Node opens a new idle one in place of one it had to destroy. */
async function socketsClosed({ connections, requests }: Wire): Promise<void> {
  const closed = () => connections.total - connections.open
  await expect.poll(closed).toBeGreaterThanOrEqual(requests.length)
}

const good = { access_token: 'x' }

describe('redirects', () => {
  const statuses = [300, 301, 302, 303, 305, 307, 308]
  const rows = statuses.flatMap((status) =>
    ['same-origin', 'cross-origin'].flatMap((where) => both.map((grant) => [status, where, grant] as const)),
  )

  it.each(rows)('no token request follows a redirect (%d, %s, %s)', async (status, where, grant) => {
    const other = await serve(respond(200, {}, good))
    const wire = await serve((_, index) =>
      index === 0
        ? redirect(status, where === 'same-origin' ? '/elsewhere' : `${other.url}/token`)
        : respond(200, {}, good),
    )
    const error = await failure(call(grant, configFor(wire, { clientSecret: secret('client secret') })))
    expect(error).toMatchObject({ code: 'config_invalid', retryable: false, details: { outcome: 'config' } })
    expect(wire.requests).toHaveLength(1)
    expect(other.connections.total).toBe(0)
  })

  it.each(both)(
    'a redirect without a location, and one that brings tokens along, are refused too (%s)',
    async (grant) => {
      const wire = await serve([respond(302, {}, good), respond(307, { location: '::' }, good)])
      for (const _ of [302, 307]) {
        const error = await failure(call(grant, configFor(wire)))
        expect(error).toMatchObject({ code: 'config_invalid', details: { outcome: 'config' } })
      }
    },
  )

  it.each([307, 308])(
    'a fetch that follows the redirect anyway (%d) is refused, by flag and URL of the real answer',
    async (status) => {
      const other = await serve(respond(200, {}, good))
      const wire = await serve(redirect(status, `${other.url}/auth/v1/token`))
      const following: typeof fetch = (input, init) => fetch(input, { ...init, redirect: 'follow' })
      const error = await failure(call('refresh', configFor(wire, { fetch: following })))
      expect(error).toMatchObject({ code: 'config_invalid', retryable: false, details: { outcome: 'config' } })
      expect(other.requests).toHaveLength(1)
    },
  )
})

describe('time', () => {
  const slow: [string, () => Step][] = [
    ['accepts and says nothing', () => stall('request')],
    ['sends the head and no body', () => stall('head')],
    ['sends a body byte by byte without end', () => trickle({ intervalMs: 20 })],
    ['sends the head byte by byte', () => trickle({ intervalMs: 50, text: JSON.stringify(good), slow: 'head' })],
    ['sends a good body too slowly', () => trickle({ intervalMs: 200, text: JSON.stringify(good) })],
  ]

  it.each(slow)('one deadline for headers and body: a server that %s', async (_, script) => {
    const ended = async (grant: Grant): Promise<void> => {
      const slowStep = script()
      const wire = await serve((_, index) => (index === 0 ? respond(200, { connection: 'close' }, good) : slowStep))
      // The first call of a process takes longer, and may not even have sent its request within a second.
      await call(grant, configFor(wire))
      const startedMs = performance.now()
      const error = await failure(call(grant, configFor(wire, { timeoutMs: 1_000 })))
      const tookMs = performance.now() - startedMs
      expect(error).toMatchObject(late[grant])
      expect(tookMs).toBeGreaterThan(900)
      expect(tookMs).toBeLessThan(15_000)
      expect(wire.requests).toHaveLength(2)
      await socketsClosed(wire)
    }
    await Promise.all(both.map(ended))
  })

  it('a slow answer within the deadline is an answer', async () => {
    const wire = await serve(trickle({ intervalMs: 5, bytes: 2, text: JSON.stringify(good) }))
    expect(await call('refresh', configFor(wire))).toMatchObject({ accessToken: 'x' })
  })

  it('a caller who gives up while the body comes gets aborted, and the socket is closed', async () => {
    const wire = await serve(stall('head'))
    const controller = new AbortController()
    const wait = failure(refreshTokens(configFor(wire), tokensWith(), { signal: controller.signal }))
    await expect.poll(() => wire.requests).toHaveLength(1)
    controller.abort()
    expect(await wait).toMatchObject({ code: 'aborted' })
    await socketsClosed(wire)
  })
})

describe('size', () => {
  it.each([
    ['a gzip bomb of 200 MB', gzipBomb],
    ['a body without end', endless],
  ])('%s: response_too_large, with bounded memory and a closed socket', async (_, script) => {
    const [kind, wire] = [await serve(respond(200, {}, good)), await serve(script())]
    const child = await startChild(onTestFinished, 'memory-watcher.ts', [kind.url, wire.url])
    const { codes, grownMiB } = (await nextWord(child)) as { codes: string[]; grownMiB: number }
    expect(new Set(codes)).toEqual(new Set(['response_too_large']))
    // Five calls, and garbage collected when it pleases; one of them unbounded would be 200 at least.
    expect(grownMiB).toBeLessThan(128)
    const config = configFor(wire)
    const tooLarge = { code: 'response_too_large' }
    expect(await failure(call('refresh', config))).toMatchObject({ ...tooLarge, retryable: true })
    expect(await failure(call('exchange', config))).toMatchObject({ ...tooLarge, retryable: false })
    await socketsClosed(wire)
  })

  it('an HTML page without end is not read at all', async () => {
    const page = `HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ntransfer-encoding: chunked\r\n\r\n6\r\n<html>\r\n`
    const wire = await serve(raw(page, 'open'))
    const error = await failure(call('refresh', configFor(wire)))
    expect(error).toMatchObject({ code: 'temporarily_unavailable', details: { outcome: 'foreign' } })
    await socketsClosed(wire)
  })

  it('a good answer in gzip is read', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    const wire = await serve(respond(200, headers, gzipSync(JSON.stringify(good))))
    expect(await call('refresh', configFor(wire))).toMatchObject({ accessToken: 'x' })
  })
})

describe('answers that break off', () => {
  const token = secret('access token')
  const text = JSON.stringify({ access_token: token, refresh_token: secret('refresh token') })
  const broken: [string, () => Script][] = [
    ['reset before anything was read', () => reset('before reading')],
    ['reset after the request', () => reset('after reading')],
    ['an end in place of an answer', () => raw('')],
    ['an end within the head', () => raw('HTTP/1.1 200 OK\r\ncontent-ty')],
    ['something that is not HTTP', () => raw(`${token}\r\n\r\n`)],
    ['too few bytes for its length', () => truncate(text, 30, 'length')],
    ['a reset within the body', () => truncate(text, 30, 'length', 'reset')],
    ['chunks without the last one', () => truncate(text, text.length, 'chunked')],
    ['a header that holds NUL', () => raw(`HTTP/1.1 200 OK\r\nx: \u0000${token}\r\n\r\n`)],
    ['gzip that is none', () => respond(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }, text)],
  ]

  it.each(broken.flatMap(([name, script]) => both.map((grant) => [name, grant, script] as const)))(
    '%s (%s): sent once, typed, nothing quoted',
    async (_, grant, script) => {
      const wire = await serve(script())
      const events: AuthEvent[] = []
      const error = await failure(call(grant, configFor(wire, { onEvent: (event) => events.push(event) })))
      expect(error).toMatchObject(lost[grant])
      expect(events).toMatchObject([{ outcome: 'ambiguous' }])
      expect(wire.connections.total).toBe(1)
      expect(error.cause).toBeUndefined()
      assertNoLeak(error)
    },
  )

  it.each(both)('a body cut short without notice (%s): no window of it', async (grant) => {
    const wire = await serve(truncate(text, 40, 'close'))
    const error = await failure(call(grant, configFor(wire)))
    const code = grant === 'exchange' ? 'exchange_interrupted' : 'response_invalid'
    expect(error).toMatchObject({ code, details: { outcome: 'ambiguous' } })
    expect(error.cause).toBeUndefined()
    assertNoLeak(error)
  })

  it('a port where no server listens: not_sent, which may be tried again', async () => {
    const config = configWith({ authUrl: await refusingOrigin(), timeoutMs: 60_000 })
    const error = await failure(call('refresh', config))
    expect(error).toMatchObject({ code: 'temporarily_unavailable', retryable: true, details: { outcome: 'not_sent' } })
  })

  it('a URL with credentials, as a caller’s fetch may make it, does not come out', async () => {
    const wire = await serve(respond(200, {}, good))
    const password = secret('password')
    const rewriting: typeof fetch = (_, init) => fetch(`http://user:${password}@127.0.0.1:${wire.port}/`, init)
    const error = await failure(call('refresh', configFor(wire, { fetch: rewriting })))
    expect(error.cause).toBeUndefined()
    assertNoLeak(error)
  })

  it('a secret with a line break, sent raw, is encoded before it is a header', async () => {
    const wire = await serve(respond(200, {}, good))
    const clientSecret = `${secret('client secret')}\r\nX-Injected: y`
    await call('refresh', configFor(wire, { clientSecret, basicEncoding: 'raw' }))
    expect(wire.requests[0]?.header('x-injected')).toBeUndefined()
    expect(atob(wire.requests[0]?.header('authorization')?.slice(6) ?? '')).toBe(`app:${clientSecret}`)
  })
})
