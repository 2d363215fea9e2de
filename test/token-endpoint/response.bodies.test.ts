import { describe, expect, it } from 'vitest'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { assertNoLeak, secret } from '../support/canary.ts'
import { configAnswering, nowMs, read, refused } from '../support/token-answers.ts'
import { configWith, failure, json, scriptedFetch, tokensWith } from '../support/token-flow.ts'

describe('what the body must be', () => {
  const token = '{"access_token":"x"}'
  const ok = [
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ]
  const json2 = ['Application/Problem+Json', 'application/vnd.example.v1+json; v=1', null, '']
  const other = ['text/html', 'text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'application/jsonp']
  const others = [
    'application/json-seq',
    'text/html; note=application/json',
    'multipart/form-data',
    'application/octet-stream',
    'json',
  ]

  function typed(type: string | null): () => Response {
    return () => {
      const response = new Response(new TextEncoder().encode(token))
      if (type !== null) response.headers.set('content-type', type)
      return response
    }
  }

  it('of another type is cancelled, so that its connection is free', async () => {
    let cancelled = 0
    const page = (): Response =>
      new Response(new ReadableStream({ cancel: () => void cancelled++ }), { headers: { 'content-type': 'text/html' } })
    const { exchange, refresh } = await refused(page)
    expect({ exchange: exchange.code, refresh: refresh.code }).toEqual({
      exchange: 'exchange_interrupted',
      refresh: 'temporarily_unavailable',
    })
    expect(cancelled).toBe(2)
  })

  it.each([...ok, ...json2])('Content-Type %j is parsed', async (type) => {
    expect(await read(typed(type))).toMatchObject({ accessToken: 'x' })
  })

  it.each([...other, ...others])('Content-Type %j is foreign', async (type) => {
    const { exchange, refresh } = await refused(typed(type))
    expect(exchange).toMatchObject({ code: 'exchange_interrupted', details: { outcome: 'foreign' } })
    expect(refresh).toMatchObject({ code: 'temporarily_unavailable', retryable: true, details: { outcome: 'foreign' } })
  })

  it('unknown members are dropped, and those with special names have no effect', async () => {
    const text =
      '{"__proto__":{"polluted":1,"refresh_token":"p"},"constructor":{"prototype":{"polluted":1}},"prototype":{"polluted":1},' +
      '"access_token":"x","id_token":"i","user":{"name":"n"},"expiresAtMs":1,"toString":"t"}'
    const tokens = await read(() => json(text))
    expect(tokens).toEqual({ accessToken: 'x', obtainedAtMs: nowMs })
    expect(Object.keys(tokens)).toEqual(['accessToken', 'obtainedAtMs'])
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(Object.getPrototypeOf(tokens)).toBe(Object.prototype)
  })

  it.each([
    '{"__proto__":{"access_token":"x"}}',
    '["access_token"]',
    '',
    '{"access_token":"x"}{}',
    '{"access_token":"x",}',
    'access_token=x&token_type=bearer',
  ])('%j is no token answer', isNoAnswer)

  it.each([
    ['[', 100_000],
    ['{"a":', 40_000],
  ])('%j %d times is no token answer', (part, times) => isNoAnswer(part.repeat(times)))

  async function isNoAnswer(text: string): Promise<void> {
    const { exchange, refresh } = await refused(() => json(text))
    expect(exchange).toMatchObject({ code: 'exchange_interrupted', retryable: false })
    expect(refresh).toMatchObject({ code: 'response_invalid', retryable: true })
  }

  it('a byte order mark and white space around the object do no harm', async () => {
    expect(await read(() => json(`\ufeff \r\n${token}\n`))).toMatchObject({ accessToken: 'x' })
  })

  it('a body that breaks off anywhere gives an error without a window of it', async () => {
    const mark = secret('access token')
    const whole = JSON.stringify({ access_token: mark, refresh_token: secret('refresh token'), expires_in: 1 })
    for (let length = 1; length < whole.length; length += 3) {
      const { exchange, refresh } = await refused(() => json(whole.slice(0, length)))
      for (const error of [exchange, refresh]) {
        expect(error.cause).toBeUndefined()
        assertNoLeak(error)
      }
    }
    for (const garbled of [whole.replace(':', ';'), `${whole}x`, mark, `<html>${mark}`, `{"access_token":${mark}}`]) {
      const { refresh } = await refused(() => json(garbled))
      expect(refresh).toMatchObject({ code: 'response_invalid' })
      assertNoLeak(refresh)
    }
  })

  it('the bound is 262,144 bytes, not one more', async () => {
    const sized = (bytes: number) => {
      const start = '{"access_token":"x","pad":"'
      return () => json(`${start}${'a'.repeat(bytes - start.length - 2)}"}`)
    }
    expect(await read(sized(262_144))).toMatchObject({ accessToken: 'x' })
    const { exchange, refresh } = await refused(sized(262_145))
    expect(exchange).toMatchObject({ code: 'response_too_large', retryable: false })
    expect(refresh).toMatchObject({ code: 'response_too_large', retryable: true })
  })

  it('the bound holds where a platform has no body streams', async () => {
    const without = (text: string) => () => {
      const response = json(text)
      return Object.defineProperty(response, 'body', { value: null })
    }
    const { refresh } = await refused(without(JSON.stringify({ access_token: 'x', pad: 'a'.repeat(300_000) })))
    expect(refresh).toMatchObject({ code: 'response_too_large' })
    expect(await read(without(token))).toMatchObject({ accessToken: 'x' })
  })

  it.each<[string, Response | (() => Response), string]>([
    ['a foreign page', new Response('<html>', { headers: { 'content-type': 'text/html' } }), 'temporarily_unavailable'],
    ['an oversized body', () => json({ pad: 'a'.repeat(300_000) }), 'response_too_large'],
    [
      'a redirect that was followed',
      () => Object.defineProperty(json({ access_token: 'x' }), 'redirected', { value: true }),
      'config_invalid',
    ],
  ])('%s that the caller’s fetch has cloned is refused at once', async (_, answer, code) => {
    let copy: Response | undefined
    const { fetch } = scriptedFetch(answer)
    const cloning: typeof fetch = async (...args) => {
      const response = await fetch(...args)
      const { redirected } = response
      copy = response.clone()
      return redirected ? Object.defineProperty(response, 'redirected', { value: true }) : response
    }
    const error = await failure(refreshTokens(configWith({ fetch: cloning, timeoutMs: 60_000 }), tokensWith()))
    expect(error).toMatchObject({ code })
    expect(copy).toBeDefined()
  })

  it('a fetch that followed a redirect is refused, by flag and by URL', async () => {
    const marked = (member: string, value: unknown) => () =>
      Object.defineProperty(json({ access_token: 'x' }), member, { value })
    for (const answer of [
      marked('redirected', true),
      marked('url', 'https://evil.example/auth/v1/token?grant_type=refresh_token'),
      marked('url', 'https://auth.example.com/auth/v1/token'),
      marked('type', 'opaqueredirect'),
    ]) {
      const config = configAnswering(answer)
      const error = await failure(refreshTokens(config, tokensWith()))
      const expected = { code: 'config_invalid', retryable: false, details: { outcome: 'config' } }
      expect(error).toMatchObject(expected)
      expect(error.message).toMatch(/^https:\/\/auth\.example\.com redirected\. /)
    }
    const same = marked('url', 'https://auth.example.com/auth/v1/token?grant_type=refresh_token')
    expect(await refreshTokens(configAnswering(same), tokensWith())).toMatchObject({ accessToken: 'x' })
  })
})
