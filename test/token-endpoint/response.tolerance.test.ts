import { UnsecuredJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import type { AuthEvent } from '../../src/events.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { assertNoLeak, secret } from '../support/canary.ts'
import { configAnswering, nowMs, read, refused } from '../support/token-answers.ts'
import { configWith, grantFor, json, scriptedFetch, tokensWith } from '../support/token-flow.ts'

const members = (body: object) => () => json({ access_token: 'x', ...body })

describe('what a token answer may leave out', () => {
  it('access_token alone is a success, and nothing is made up', async () => {
    expect(await read(members({}))).toEqual({ accessToken: 'x', obtainedAtMs: nowMs })
  })

  it('takes an answer with all members', async () => {
    const body = { token_type: 'Bearer', expires_in: 600, refresh_token: 'r', scope: 'api.access' }
    expect(await read(members(body))).toEqual({
      accessToken: 'x',
      refreshToken: 'r',
      obtainedAtMs: nowMs,
      expiresAtMs: nowMs + 600_000,
      scope: 'api.access',
    })
  })

  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR', null, undefined])('token_type %j means Bearer', async (type) => {
    expect(await read(members({ token_type: type }))).toMatchObject({ accessToken: 'x' })
  })

  it.each(
    ['DPoP', 'mac', 'N_A', '', ' ', 'Bearer ', ' bearer', 'Bearer,DPoP', 7, 0, true, false, [], ['Bearer'], {}].map(
      (type) => [type],
    ),
  )('token_type %j is refused', async (type) => {
    const { exchange, refresh } = await refused(members({ token_type: type }))
    expect(exchange).toMatchObject({
      code: 'exchange_interrupted',
      retryable: false,
      details: { outcome: 'ambiguous' },
    })
    expect(refresh).toMatchObject({ code: 'response_invalid', retryable: true, details: { outcome: 'ambiguous' } })
  })

  it.each<[unknown, number | undefined]>([
    [3600, 3_600_000],
    [0.5, 500],
    [315_360_000, 315_360_000_000],
    ...[315_360_001, 0, -1, '3600abc', '1e3', 'Infinity', null, [3600], undefined].map(
      (value): [unknown, undefined] => [value, undefined],
    ),
  ])('expires_in %j: a life of %s ms', async (value, lifeMs) => {
    const tokens = await read(members({ expires_in: value }))
    expect(tokens).toEqual({
      accessToken: 'x',
      obtainedAtMs: nowMs,
      ...(lifeMs !== undefined && { expiresAtMs: nowMs + lifeMs }),
    })
  })

  it.each(['1e999', '-1e999', '1e-400'])('expires_in %s in the JSON text: unknown', async (text) => {
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
  ])('a JWT access token with %s', async (_, claims, expiresIn, lifeMs) => {
    const token = new UnsecuredJWT(claims).encode()
    const tokens = await read(() => json({ access_token: token, expires_in: expiresIn }))
    expect(tokens.expiresAtMs).toBe(lifeMs && nowMs + lifeMs)
  })

  it.each(['a.b', 'a.b.c', '..', 'e30.e30.', 'e30.bnVsbA.', `e30.${btoa('[1]')}.`, 'e30.%%%.x'])(
    'what only looks like a JWT has an unknown life: %s',
    async (token) => {
      expect(await read(() => json({ access_token: token }))).toEqual({ accessToken: token, obtainedAtMs: nowMs })
    },
  )

  it.each(['e30.CLAIMS', 'e30.CLAIMS.c.d', 'e30.CLAIMS.c.d.e'])(
    'a JWT has three parts; others have an unknown life: %s',
    async (shape) => {
      const token = shape.replace('CLAIMS', btoa('{"iat":1000,"exp":1600}'))
      expect(await read(() => json({ access_token: token }))).not.toHaveProperty('expiresAtMs')
    },
  )

  it.each([null, '', 7, {}, [], true, undefined].map((value) => [value]))(
    'refresh_token %j means none at login',
    async (value) => {
      expect(await read(members({ refresh_token: value }))).not.toHaveProperty('refreshToken')
    },
  )

  it.each<[string | undefined, number]>([
    [undefined, 0],
    ['api.access', 0],
    ['other', 1],
    ['api.accessory', 1],
    ['', 0],
  ])('scope %j: %d warnings', async (scope, warnings) => {
    const events: AuthEvent[] = []
    const config = configAnswering(members({ scope }), events)
    const tokens = await exchangeCode(config, await grantFor(config))
    expect(tokens.scope).toBe(scope || undefined)
    expect(events.filter(({ type }) => type === 'scope_reduced')).toHaveLength(warnings)
  })

  it.each<[string, number]>([
    ['api.access offline_access', 0],
    ['offline_access more api.access', 0],
    ['api.access', 1],
  ])('of the scopes api.access and offline_access %j is granted: %d warnings', async (scope, warnings) => {
    const events: AuthEvent[] = []
    const { fetch } = scriptedFetch(members({ scope }))
    const config = configWith({ scope: 'api.access offline_access', fetch, onEvent: (event) => events.push(event) })
    await refreshTokens(config, tokensWith())
    expect(events.filter(({ type }) => type === 'scope_reduced')).toHaveLength(warnings)
  })
})

describe('what a token must be', () => {
  it.each<[string, (mark: string) => unknown]>([
    ['a line break', (mark) => `${mark}\r\nX-Injected: y`],
    ['a space', (mark) => `${mark} b`],
    ['NUL', (mark) => `${mark}\u0000`],
    ['an emoji', (mark) => `${mark}\ud83d\ude00`],
    ['a lone surrogate', (mark) => `${mark}\ud800`],
    ['Latin-1', (mark) => `${mark}\u00e9`],
    ['over 16 KiB', (mark) => mark + 'a'.repeat(16_384)],
    ['empty', () => ''],
    ['a number', () => 7],
    ['an object', (mark) => ({ token: mark })],
    ['null', () => null],
    ['absent', () => undefined],
  ])('an access token that holds or is %s is refused and not quoted', async (_, make) => {
    const mark = secret('access token')
    const { exchange, refresh } = await refused(() => json({ access_token: make(mark), refresh_token: mark }))
    expect({ exchange: exchange.code, refresh: refresh.code }).toEqual({
      exchange: 'exchange_interrupted',
      refresh: 'response_invalid',
    })
    for (const error of [exchange, refresh]) assertNoLeak(error)
  })

  it.each(['x', '!#$%&*~', 'a'.repeat(16_384), 'with"quotes\\and=signs'])(
    'an ordinary access token is accepted (%#)',
    async (token) => {
      expect(await read(() => json({ access_token: token }))).toMatchObject({ accessToken: token })
    },
  )
})
