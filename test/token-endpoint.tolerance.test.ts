import fc from 'fast-check'
import { SignJWT, UnsecuredJWT } from 'jose'
import {
  authorizationCodeGrantRequest,
  customFetch,
  None,
  processAuthorizationCodeResponse,
  validateAuthResponse,
} from 'oauth4webapi'
import { describe, expect, it } from 'vitest'
import { isAgentAuthError } from '../src/errors.ts'
import type { AuthEvent } from '../src/events.ts'
import { exchangeCode } from '../src/exchange.ts'
import { refreshTokens } from '../src/refresh.ts'
import { createTokens, type Tokens } from '../src/tokens.ts'
import { assertNoLeak, secret } from './support/canary.ts'
import { testClock } from './support/clock.ts'
import { configWith, failure, grantFor, json, scriptedFetch, tokensWith } from './support/token-flow.ts'

const clock = testClock()
const nowMs = clock.wallMs()

function configAnswering(answer: () => Response, events: AuthEvent[] = []) {
  return configWith({ clock, ...scriptedFetch(answer), onEvent: (event) => events.push(event) })
}

/** What both grants make of one answer; they must agree. */
async function read(answer: () => Response): Promise<Tokens> {
  const config = configAnswering(answer)
  const exchanged = await exchangeCode(config, await grantFor(config))
  const { refreshToken, scope, ...before } = tokensWith()
  const refreshed = await refreshTokens(config, createTokens({ ...before, refreshToken: 'old', expiresAtMs: undefined, scope: undefined }))
  expect({ ...refreshed, refreshToken: exchanged.refreshToken ?? 'old' }).toEqual({ ...exchanged, refreshToken: refreshed.refreshToken })
  return exchanged
}

async function refused(answer: () => Response) {
  const config = configAnswering(answer)
  const exchange = await failure(exchangeCode(config, await grantFor(config)))
  const refresh = await failure(refreshTokens(config, tokensWith()))
  return { exchange, refresh }
}

const members = (body: object) => () => json({ access_token: 'x', ...body })

describe('what a token answer may leave out', () => {
  it('C-041 access_token alone is a success, and nothing is made up', async () => {
    expect(await read(members({}))).toEqual({ accessToken: 'x', obtainedAtMs: nowMs })
  })

  it('C-041 oauth4webapi’s own processor refuses that answer, which is why it is read here', async () => {
    const server = { issuer: 'https://auth.example.com', token_endpoint: 'https://auth.example.com/t' }
    const client = { client_id: 'app' }
    const checked = validateAuthResponse(server, client, new URLSearchParams({ code: 'c', state: 's' }), 's')
    const answer = await authorizationCodeGrantRequest(server, client, None(), checked, 'https://a.example/cb', 'v'.repeat(43), {
      [customFetch]: async () => members({})(),
    })
    await expect(processAuthorizationCodeResponse(server, client, answer)).rejects.toMatchObject({
      message: expect.stringContaining('token_type'),
    })
  })

  it('C-041 all members together', async () => {
    const body = { token_type: 'Bearer', expires_in: 600, refresh_token: 'r', scope: 'api.access' }
    expect(await read(members(body))).toEqual({
      accessToken: 'x',
      refreshToken: 'r',
      obtainedAtMs: nowMs,
      expiresAtMs: nowMs + 600_000,
      scope: 'api.access',
    })
  })

  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR', null, undefined])('C-042 F025 token_type %j means Bearer', async (type) => {
    expect(await read(members({ token_type: type }))).toMatchObject({ accessToken: 'x' })
  })

  it.each(['DPoP', 'mac', 'N_A', '', ' ', 'Bearer ', ' bearer', 'Bearer,DPoP', 7, 0, true, false, [], ['Bearer'], {}].map((type) => [type]))(
    'C-042 token_type %j is refused',
    async (type) => {
      const { exchange, refresh } = await refused(members({ token_type: type }))
      expect(exchange).toMatchObject({ code: 'exchange_interrupted', retryable: false, details: { outcome: 'ambiguous' } })
      expect(refresh).toMatchObject({ code: 'response_invalid', retryable: true, details: { outcome: 'ambiguous' } })
    },
  )

  it.each<[unknown, number | undefined]>([
    [3600, 3_600_000],
    ['3600', 3_600_000],
    [1, 1_000],
    [0.5, 500],
    ['0.5', 500],
    [315_360_000, 315_360_000_000],
    [315_360_001, undefined],
    [0, undefined],
    ['0', undefined],
    [-1, undefined],
    ['-1', undefined],
    ['abc', undefined],
    ['3600abc', undefined],
    ['1e3', undefined],
    ['0x10', undefined],
    [' 3600', undefined],
    ['', undefined],
    ['Infinity', undefined],
    [null, undefined],
    [true, undefined],
    [{}, undefined],
    [[3600], undefined],
    [undefined, undefined],
  ])('C-043 expires_in %j: a life of %s ms', async (value, lifeMs) => {
    const tokens = await read(members({ expires_in: value }))
    expect(tokens).toEqual({
      accessToken: 'x',
      obtainedAtMs: nowMs,
      ...(lifeMs !== undefined && { expiresAtMs: nowMs + lifeMs }),
    })
  })

  it.each(['1e999', '-1e999', '1e-400'])('C-043 expires_in %s in the JSON text: unknown', async (text) => {
    expect(await read(() => json(`{"access_token":"x","expires_in":${text}}`))).not.toHaveProperty('expiresAtMs')
  })

  it.each<[string, Record<string, unknown>, unknown, number | undefined]>([
    ['exp and iat', { iat: 1_000, exp: 1_600 }, undefined, 600_000],
    ['exp alone', { exp: nowMs / 1_000 + 60 }, undefined, 60_000],
    ['exp in the past', { exp: nowMs / 1_000 - 60 }, undefined, undefined],
    ['exp before iat', { iat: 1_600, exp: 1_000 }, undefined, undefined],
    ['neither', {}, undefined, undefined],
    ['more than ten years', { iat: 0, exp: 315_360_001 }, undefined, undefined],
    ['expires_in as well', { iat: 1_000, exp: 1_600 }, 30, 30_000],
    ['an unusable expires_in as well', { iat: 1_000, exp: 1_600 }, 'soon', 600_000],
    ['exp as text', { exp: 'tomorrow' }, undefined, undefined],
    ['exp as an object', { exp: {} }, undefined, undefined],
  ])('C-043 a JWT access token with %s', async (_, claims, expiresIn, lifeMs) => {
    const token = new UnsecuredJWT(claims).encode()
    const tokens = await read(() => json({ access_token: token, expires_in: expiresIn }))
    expect(tokens.expiresAtMs).toBe(lifeMs && nowMs + lifeMs)
  })

  it('C-043 a signed JWT as the service makes them', async () => {
    const jwt = new SignJWT({}).setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' }).setIssuedAt(5_000).setExpirationTime(5_300)
    const token = await jwt.sign(new Uint8Array(32))
    expect((await read(() => json({ access_token: token }))).expiresAtMs).toBe(nowMs + 300_000)
  })

  it.each(['a.b', 'a.b.c', '..', 'e30.e30.', 'e30.bnVsbA.', `e30.${btoa('[1]')}.`, 'e30.%%%.x'])(
    'C-043 what only looks like a JWT has an unknown life: %s',
    async (token) => {
      expect(await read(() => json({ access_token: token }))).toEqual({ accessToken: token, obtainedAtMs: nowMs })
    },
  )

  it.each([null, '', 7, {}, [], true, undefined].map((value) => [value]))('C-044 refresh_token %j means none at login', async (value) => {
    expect(await read(members({ refresh_token: value }))).not.toHaveProperty('refreshToken')
  })

  it.each<[string | undefined, number]>([
    [undefined, 0],
    ['api.access', 0],
    ['other api.access', 0],
    ['other', 1],
    ['api.accessory', 1],
    ['', 0],
  ])('C-053 scope %j: %d warnings', async (scope, warnings) => {
    const events: AuthEvent[] = []
    const config = configAnswering(members({ scope }), events)
    const tokens = await exchangeCode(config, await grantFor(config))
    expect(tokens.scope).toBe(scope || undefined)
    expect(events.filter(({ type }) => type === 'scope_reduced')).toHaveLength(warnings)
  })
})

describe('what a token must be', () => {
  it.each<[string, (mark: string) => unknown]>([
    ['a line break', (mark) => `${mark}\r\nX-Injected: y`],
    ['a line feed', (mark) => `${mark}\n`],
    ['a space', (mark) => `${mark} b`],
    ['a tab', (mark) => `${mark}\t`],
    ['NUL', (mark) => `${mark}\u0000`],
    ['DEL', (mark) => `${mark}\u007f`],
    ['an emoji', (mark) => `${mark}\ud83d\ude00`],
    ['a lone surrogate', (mark) => `${mark}\ud800`],
    ['Latin-1', (mark) => `${mark}\u00e9`],
    ['over 16 KiB', (mark) => mark + 'a'.repeat(16_384)],
    ['empty', () => ''],
    ['a number', () => 7],
    ['an array', (mark) => [mark]],
    ['an object', (mark) => ({ token: mark })],
    ['null', () => null],
    ['true', () => true],
    ['absent', () => undefined],
  ])('C-045 an access token that holds or is %s is refused and not quoted', async (_, make) => {
    const mark = secret('access token')
    const { exchange, refresh } = await refused(() => json({ access_token: make(mark), refresh_token: mark }))
    expect([exchange.code, refresh.code]).toEqual(['exchange_interrupted', 'response_invalid'])
    for (const error of [exchange, refresh]) assertNoLeak(error)
  })

  it.each(['x', '!#$%&*~', 'a'.repeat(16_384), 'with"quotes\\and=signs'])('C-045 an ordinary access token is accepted (%#)', async (token) => {
    expect(await read(() => json({ access_token: token }))).toMatchObject({ accessToken: token })
  })
})

describe('what the body must be', () => {
  const token = '{"access_token":"x"}'
  const ok = ['application/json', 'APPLICATION/JSON', 'application/json; charset=utf-8', 'application/json;charset="UTF-8"']
  const json2 = ['Application/Problem+Json', 'application/vnd.example.v1+json; v=1', null, '']
  const other = ['text/html', 'text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'application/jsonp']
  const others = ['application/json-seq', 'text/html; note=application/json', 'multipart/form-data', 'application/octet-stream', 'json']

  function typed(type: string | null): () => Response {
    return () => {
      const response = new Response(new TextEncoder().encode(token))
      if (type !== null) response.headers.set('content-type', type)
      return response
    }
  }

  it.each([...ok, ...json2])('C-048 Content-Type %j is parsed', async (type) => {
    expect(await read(typed(type))).toMatchObject({ accessToken: 'x' })
  })

  it.each([...other, ...others])('C-048 Content-Type %j is foreign', async (type) => {
    const { exchange, refresh } = await refused(typed(type))
    expect(exchange).toMatchObject({ code: 'exchange_interrupted', details: { outcome: 'foreign' } })
    expect(refresh).toMatchObject({ code: 'temporarily_unavailable', retryable: true, details: { outcome: 'foreign' } })
  })

  it('C-050 unknown members are dropped, and those with special names have no effect', async () => {
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
    '{"constructor":{"access_token":"x"}}',
    '[{"access_token":"x"}]',
    '["access_token"]',
    '"access_token"',
    '7',
    'true',
    'null',
    '{}',
    '',
    ' ',
    '{"access_token":"x"}{}',
    '{"access_token":"x",}',
    "{'access_token':'x'}",
    'access_token=x&token_type=bearer',
    `${'['.repeat(100_000)}`,
    `${'{"a":'.repeat(40_000)}`,
  ])('C-050 %j is no token answer', async (text) => {
    const { exchange, refresh } = await refused(() => json(text))
    expect(exchange).toMatchObject({ code: 'exchange_interrupted', retryable: false })
    expect(refresh).toMatchObject({ code: 'response_invalid', retryable: true })
  })

  it('C-048 a byte order mark and white space around the object do no harm', async () => {
    expect(await read(() => json(`\ufeff \r\n${token}\n`))).toMatchObject({ accessToken: 'x' })
  })

  it('C-051 C-063 a body that breaks off anywhere gives an error without a window of it', async () => {
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

  it('C-049 the bound is 262,144 bytes, not one more', async () => {
    const sized = (bytes: number) => {
      const start = '{"access_token":"x","pad":"'
      return () => json(`${start}${'a'.repeat(bytes - start.length - 2)}"}`)
    }
    expect(await read(sized(262_144))).toMatchObject({ accessToken: 'x' })
    const { exchange, refresh } = await refused(sized(262_145))
    expect(exchange).toMatchObject({ code: 'response_too_large', retryable: false })
    expect(refresh).toMatchObject({ code: 'response_too_large', retryable: true })
  })

  it('C-049 the bound counts bytes, not characters', async () => {
    const { refresh } = await refused(() => json({ access_token: 'x', pad: '\u2603'.repeat(100_000) }))
    expect(refresh).toMatchObject({ code: 'response_too_large' })
  })

  it('C-049 the bound holds where a platform has no body streams', async () => {
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
    ['a redirect that was followed', () => Object.defineProperty(json({ access_token: 'x' }), 'redirected', { value: true }), 'config_invalid'],
  ])('C-048 C-049 C-035 %s that the caller’s fetch has cloned is refused at once', async (_, answer, code) => {
    let copy: Response | undefined
    const { fetch } = scriptedFetch(answer)
    const cloning: typeof fetch = async (...args) => {
      const response = await fetch(...args)
      const { redirected } = response
      copy = response.clone()
      return redirected ? Object.defineProperty(response, 'redirected', { value: true }) : response
    }
    const error = await failure(refreshTokens(configWith({ fetch: cloning, timeoutMs: 1_000 }), tokensWith()))
    expect(error).toMatchObject({ code })
    expect(copy).toBeDefined()
  })

  it.each([
    ['nothing', undefined],
    ['text', 'ok'],
    ['a plain object', { status: 200, ok: true }],
  ])('C-063 a caller’s fetch that resolves to %s gives a typed error', async (_, value) => {
    const config = configWith({ fetch: (async () => value) as unknown as typeof fetch })
    expect(await failure(refreshTokens(config, tokensWith()))).toMatchObject({ code: 'temporarily_unavailable' })
    expect(await failure(exchangeCode(config, await grantFor(config)))).toMatchObject({ code: 'exchange_interrupted' })
  })

  it('C-035 a fetch that followed a redirect is refused, by flag and by URL', async () => {
    const marked = (member: string, value: unknown) => () => Object.defineProperty(json({ access_token: 'x' }), member, { value })
    for (const answer of [
      marked('redirected', true),
      marked('url', 'https://evil.example/auth/v1/token?grant_type=refresh_token'),
      marked('url', 'https://auth.example.com/auth/v1/token'),
      marked('type', 'opaqueredirect'),
    ]) {
      const config = configAnswering(answer)
      const error = await failure(refreshTokens(config, tokensWith()))
      expect(error).toMatchObject({ code: 'config_invalid', retryable: false, details: { outcome: 'config' } })
    }
    const same = marked('url', 'https://auth.example.com/auth/v1/token?grant_type=refresh_token')
    expect(await refreshTokens(configAnswering(same), tokensWith())).toMatchObject({ accessToken: 'x' })
  })
})

describe('any answer', () => {
  it('C-050 C-051 C-052 5,000 bodies: tokens of the right form, or a typed error', async () => {
    const value = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('x', 'Bearer', '3600', 'invalid_grant', 'a\r\nb', '\ud800'))
    const names = ['access_token', 'token_type', 'expires_in', 'refresh_token', 'scope', 'error', 'error_description', '__proto__']
    const objects = fc.dictionary(fc.oneof(fc.constantFrom(...names), fc.string()), value, { maxKeys: 6 })
    const body = fc.oneof(
      objects.map((object) => JSON.stringify({ access_token: 'x', ...object })),
      objects.map((object) => JSON.stringify(object)),
      fc.jsonValue().map((any) => JSON.stringify(any)),
      fc.string({ unit: 'binary' }),
    )
    const status = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(200, 201, 400, 401) }, fc.integer({ min: 200, max: 599 }))
    const type = fc.constantFrom('application/json', 'text/html', '', 'application/problem+json', 'json/')
    const tokens = tokensWith()
    let granted = 0
    await fc.assert(
      fc.asyncProperty(status, type, body, async (code, media, text) => {
        const empty = [204, 205, 304].includes(code)
        const answer = () =>
          new Response(empty ? null : new TextEncoder().encode(text), { status: code, headers: { 'content-type': media } })
        const config = configWith({ clock, ...scriptedFetch(answer) })
        try {
          const result = await refreshTokens(config, tokens)
          granted += 1
          expect(result.accessToken).toMatch(/^[\x21-\x7e]+$/)
          expect(result.refreshToken).toEqual(expect.any(String))
          expect(result.expiresAtMs ?? nowMs).toBeGreaterThanOrEqual(nowMs)
          expect([200, 201]).toContain(code)
        } catch (error) {
          if (!isAgentAuthError(error)) throw error
          expect(error.code).toMatch(
            /^(grant_rejected|client_rejected|config_invalid|temporarily_unavailable|response_invalid|response_too_large)$/,
          )
        }
      }),
      { numRuns: 5_000 },
    )
    expect(granted).toBeGreaterThan(100)
  }, 60_000)
})
