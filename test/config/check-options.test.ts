import { describe, expect, it } from 'vitest'
import { startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import { createAuthConfig } from '../../src/config.ts'
import { endSessionUrl } from '../../src/end-session.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { checkMethods, checkNames, checkSignal } from '../../src/internal/values.ts'
import { pendingLogins } from '../../src/pending-logins.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { secret } from '../support/canary.ts'
import { configWith, failure, optionsWith, redirectUri, tokensWith } from '../support/token-flow.ts'
import { invalid } from '../support/wrong-calls.ts'

const config = configWith()
const untyped = (value: unknown): never => value as never

describe('the names of options', () => {
  const check = (options: unknown): Promise<unknown> =>
    failure(() => checkNames('create', untyped(options), ['name', 'timeoutMs']))

  it.each([[{}], [{ name: 'x' }], [{ unknown: undefined }], [Object.create({ more: 'inherited' })]])(
    'are accepted in %j',
    (options) => {
      expect(() => checkNames('create', options, ['name', 'timeoutMs'])).not.toThrow()
    },
  )

  it.each([[undefined], [null], ['name'], [() => {}], [['name']]])('are not in %j', async (options) => {
    expect(await check(options)).toMatchObject(invalid('create needs an object of options'))
  })

  it('are listed for an unknown one', async () => {
    expect(await check({ timeout: 5 })).toMatchObject(
      invalid('timeout is not an option of create, which has name, timeoutMs'),
    )
  })

  it('are not quoted if they could be a value', async () => {
    const token = secret('token where a name belongs')
    expect(await check({ [token]: 'x' })).toMatchObject(
      invalid('a name is not an option of create, which has name, timeoutMs'),
    )
  })

  it.each<[string, (options: object) => unknown]>([
    ['createAuthConfig', (options) => createAuthConfig({ ...optionsWith(), ...options })],
    ['startLogin', (options) => startLogin(config, options)],
    ['readCallback', (options) => readCallback(null, redirectUri, options)],
    ['exchangeCode', (options) => exchangeCode(config, untyped({}), options)],
    ['refreshTokens', (options) => refreshTokens(config, tokensWith(), options)],
    ['pendingLogins', (options) => pendingLogins(memoryStorage(), options)],
    ['endSessionUrl', (options) => endSessionUrl(config, options)],
  ])('are checked by %s', async (caller, call) => {
    const { code, message } = await failure(() => call({ retrunTo: '/' }))
    expect(code).toBe('config_invalid')
    expect(message).toContain(`retrunTo is not an option of ${caller}, which has `)
  })
})

it.each<[string, () => unknown]>([
  ['scope', () => configWith({ scope: untyped(['api.access']) })],
  ['basicEncoding', () => configWith({ clientSecret: 's', basicEncoding: untyped('url') })],
  ['clientSecret', () => configWith({ clientSecret: untyped(Promise.resolve('s')) })],
  ['redirectUri', () => configWith({ redirectUri: untyped(new URL(redirectUri)) })],
  ['state', () => startLogin(config, { state: untyped(7) })],
  ['signal', () => checkSignal(untyped(new AbortController()))],
  ['place', () => checkMethods('place', { read: () => '' }, ['read', 'write'])],
  ['place', () => checkMethods('place', undefined, ['read'])],
  ['storage', () => pendingLogins(untyped('sessionStorage'))],
])('a value of %s that would be dangerous is refused with its name', async (name, call) => {
  expect(await failure(call)).toMatchObject({ code: 'config_invalid', message: expect.stringContaining(name) })
})

it.each([undefined, null, new AbortController().signal])('%s is a signal or none', (signal) => {
  expect(() => checkSignal(signal)).not.toThrow()
})

it('pendingLogins takes a config, of which it uses the clock', () => {
  expect(() => pendingLogins(memoryStorage(), config)).not.toThrow()
})
