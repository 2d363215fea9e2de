import { afterEach, describe, expect, it, vi } from 'vitest'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { secret } from '../support/canary.ts'
import { testClock } from '../support/clock.ts'
import {
  configWith,
  failure,
  json,
  privateSettings,
  scriptedFetch,
  tokensWith,
  tokenUrl,
} from '../support/token-flow.ts'

afterEach(() => vi.useRealTimers())

describe('the request', () => {
  it('omits credentials, caches nothing, names no referrer, follows nothing', async () => {
    const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
    await refreshTokens(configWith({ fetch }), tokensWith())
    expect(calls[0]).toMatchObject({
      url: `${tokenUrl}?grant_type=refresh_token`,
      init: privateSettings,
    })
    expect(Object.keys(calls[0]?.init.headers ?? {}).sort()).toEqual(['accept', 'content-type'])
  })
})

describe('the answer', () => {
  const kept = { refreshToken: 'old-refresh', scope: 'api.access' }

  it.each<[string, object, string]>([
    ['absent', {}, 'old-refresh'],
    ['null', { refresh_token: null }, 'old-refresh'],
    ['empty', { refresh_token: '' }, 'old-refresh'],
    ['the same', { refresh_token: 'old-refresh' }, 'old-refresh'],
    ['another', { refresh_token: 'new-refresh' }, 'new-refresh'],
  ])('refresh_token %s: the right one is kept', async (_, members, expected) => {
    const { fetch } = scriptedFetch(() => json({ access_token: 'new', ...members }))
    const tokens = await refreshTokens(configWith({ fetch }), tokensWith(kept))
    expect(tokens).toMatchObject({ accessToken: 'new', refreshToken: expected })
  })

  it.each<[string, object, string]>([
    ['absent', {}, 'api.access'],
    ['null', { scope: null }, 'api.access'],
    ['empty', { scope: '' }, 'api.access'],
    ['another', { scope: 'api.access more' }, 'api.access more'],
  ])('scope %s: the granted one is kept, and none is asked for', async (_, members, expected) => {
    const { fetch, calls } = scriptedFetch(() => json({ access_token: 'new', ...members }))
    const tokens = await refreshTokens(configWith({ fetch }), tokensWith(kept))
    expect(tokens.scope).toBe(expected)
    expect(JSON.parse(String(calls[0]?.init.body))).not.toHaveProperty('scope')
  })

  it('the old lifetime is not carried over: without expires_in it is unknown', async () => {
    const { fetch } = scriptedFetch(() => json({ access_token: 'new' }))
    const clock = testClock()
    const tokens = await refreshTokens(configWith({ fetch, clock }), tokensWith({ expiresAtMs: clock.wallMs() + 1 }))
    expect(tokens).toEqual({ accessToken: 'new', refreshToken: expect.any(String), obtainedAtMs: clock.wallMs() })
  })

  it('the lifetime counts from before the request', async () => {
    const clock = testClock()
    const startMs = clock.wallMs()
    const { fetch } = scriptedFetch(() => {
      clock.advance(5_000)
      return json({ access_token: 'new', expires_in: 60 })
    })
    const tokens = await refreshTokens(configWith({ fetch, clock }), tokensWith())
    expect(tokens).toMatchObject({ obtainedAtMs: startMs, expiresAtMs: startMs + 60_000 })
  })
})

describe('before and while it is sent', () => {
  it.each([undefined, ''])('without a refresh token (%j): login_required, no request', async (refreshToken) => {
    const { fetch, calls } = scriptedFetch()
    const { refreshToken: _, ...tokens } = tokensWith()
    const call = refreshTokens(configWith({ fetch }), refreshToken === undefined ? tokens : { ...tokens, refreshToken })
    expect(await failure(call)).toMatchObject({ code: 'login_required', retryable: false })
    expect(calls).toEqual([])
  })

  it('a refresh that fails is sent once: replaying it is the session’s business', async () => {
    const { fetch, calls } = scriptedFetch(new TypeError('fetch failed'), () => json({ access_token: 'x' }))
    const config = configWith({ fetch })
    const tokens = tokensWith()
    expect(await failure(refreshTokens(config, tokens))).toMatchObject({
      code: 'temporarily_unavailable',
      retryable: true,
    })
    expect(calls).toHaveLength(1)
    expect(await refreshTokens(config, tokens)).toMatchObject({ accessToken: 'x' })
  })

  it('the deadline ends the request: timeout, retryable', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { fetch, calls } = scriptedFetch(() => new Promise<Response>(() => {}))
    const call = failure(refreshTokens(configWith({ fetch, timeoutMs: 1_000 }), tokensWith()))
    await vi.advanceTimersByTimeAsync(999)
    expect(calls[0]?.init.signal?.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(await call).toMatchObject({ code: 'timeout', retryable: true })
    expect(calls[0]?.init.signal?.aborted).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('a caller who gives up gets aborted, without the reason it gave', async () => {
    const { fetch, calls } = scriptedFetch(() => new Promise<Response>(() => {}))
    const controller = new AbortController()
    const call = failure(refreshTokens(configWith({ fetch }), tokensWith(), { signal: controller.signal }))
    await expect.poll(() => calls).toHaveLength(1)
    controller.abort(new Error(secret('abort reason')))
    const error = await call
    expect(error).toMatchObject({ code: 'aborted', retryable: false })
    expect(error.cause).toBeUndefined()
  })

  it('a signal that fired before: the refresh token is not sent, since its answer would be lost', async () => {
    const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x', refresh_token: 'rotated' }))
    const events: unknown[] = []
    const config = configWith({ fetch, onEvent: (event) => events.push(event) })
    const call = refreshTokens(config, tokensWith(), { signal: AbortSignal.abort() })
    expect(await failure(call)).toMatchObject({ code: 'aborted' })
    await new Promise((resolve) => setImmediate(resolve))
    expect({ calls, events }).toEqual({ calls: [], events: [] })
  })
})
