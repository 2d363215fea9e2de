// Also tests src/config/invalid.ts.
import { createService } from 'agent-service'
import { describe, expect, it, test } from 'vitest'
import { startLogin } from '../../src/authorize.ts'
import { createBearerFetch } from '../../src/bearer.ts'
import { readCallback } from '../../src/callback.ts'
import { checkArgument, checkOptions } from '../../src/config/check-options.ts'
import { type AuthConfigOptions, createAuthConfig } from '../../src/config.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { pendingLogins } from '../../src/pending-logins.ts'
import { type PostgresStorageOptions, postgresStorage } from '../../src/postgres/index.ts'
import { type RedisStorageOptions, redisStorage } from '../../src/redis/index.ts'
import { refreshTokens } from '../../src/refresh.ts'
import { createSession, type SessionOptions } from '../../src/session.ts'
import { encryptedStorage } from '../../src/storage/encrypted-storage.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import { storageSuite } from '../../src/testing/index.ts'
import { secret } from '../support/canary.ts'
import { configWith, failure, optionsWith, tokensWith } from '../support/token-flow.ts'
import { invalid } from '../support/wrong-calls.ts'

interface Options {
  readonly name?: string
  readonly timeoutMs?: number
  readonly mode?: 'one' | 'two' | 'three'
  readonly names?: readonly string[]
  readonly place?: { read(): string; write(): void }
}

const kinds = {
  name: 'string',
  timeoutMs: 'number',
  mode: { oneOf: ['one', 'two', 'three'] },
  names: 'list',
  place: { methods: ['read', 'write'] },
} as const

const check = (options: unknown): Promise<unknown> => failure(() => checkOptions('create', options as Options, kinds))

describe('checking options', () => {
  it.each<[unknown]>([
    [{}],
    [{ name: '', timeoutMs: 0, mode: 'two', names: [], place: { read: () => '', write: () => {} } }],
    [{ name: undefined, timeoutMs: undefined, mode: undefined, names: undefined, place: undefined }],
    [{ unknown: undefined }],
    [Object.create({ name: 'inherited', more: 'than asked' })],
  ])('accepts %j', (options) => {
    expect(() => checkOptions('create', options as Options, kinds)).not.toThrow()
  })

  it.each<[unknown, string]>([
    [undefined, 'create needs an object of options'],
    [null, 'create needs an object of options'],
    ['name', 'create needs an object of options'],
    [() => {}, 'create needs an object of options'],
    [['name'], 'create needs an object of options'],
  ])('%j is no object of options', async (options, what) => {
    expect(await check(options)).toMatchObject(invalid(what))
  })

  it.each<[string, string]>([
    ['nmae', 'name'],
    ['Name', 'name'],
    ['timeout', 'timeoutMs'],
    ['timeout_ms', 'timeoutMs'],
    ['timeoutMS', 'timeoutMs'],
    ['mod', 'mode'],
    ['plcae', 'place'],
    // A name is proposed for two edits at most. Each of these rows has two edits of one kind.
    ['timeXXoutMs', 'timeoutMs'],
    ['timutMs', 'timeoutMs'],
    ['tXmeXutMs', 'timeoutMs'],
  ])('%s is told that it is %s', async (unknown, meant) => {
    expect(await check({ [unknown]: 'x' })).toMatchObject(
      invalid(`${unknown} is not an option of create. Use ${meant}`),
    )
  })

  it.each(['colour', 'constructor', 'toString', '__proto__x', 'tXmXXutMs'])('%s is like no option', async (unknown) => {
    expect(await check({ [unknown]: 'x' })).toMatchObject(invalid(`${unknown} is not an option of create. Remove it`))
  })

  it('an unknown name is told before the option that is missing or wrong because of it', async () => {
    expect(await check({ name: 7, timeout: 5 })).toMatchObject(
      invalid('timeout is not an option of create. Use timeoutMs'),
    )
  })

  it.each<[keyof Options, unknown, string]>([
    ['name', 7, 'name must be a string'],
    ['name', null, 'name must be a string'],
    ['name', ['a'], 'name must be a string'],
    ['name', new URL('https://example.com'), 'name must be a string'],
    ['timeoutMs', '5', 'timeoutMs must be a number'],
    ['names', 'a', 'names must be a list'],
    ['names', { 0: 'a' }, 'names must be a list'],
    ['mode', 'four', 'mode must be one, two or three'],
    ['mode', 'constructor', 'mode must be one, two or three'],
    ['mode', ['one'], 'mode must be one, two or three'],
    ['place', 'localStorage', 'place must be an object with read and write'],
    ['place', null, 'place must be an object with read and write'],
    ['place', { read: () => '' }, 'place must be an object with read and write'],
  ])('%s %j is refused with what it must be', async (name, value, what) => {
    expect(await check({ [name]: value })).toMatchObject(invalid(what))
  })

  it('no value is quoted, nor a name that could be one', async () => {
    const token = secret('token where a name belongs')
    for (const value of [token, [token], { [token]: token }])
      for (const name of ['timeoutMs', 'mode', 'place'])
        expect(await check({ [name]: value })).toMatchObject({ code: 'config_invalid' })
    expect(await check({ [token]: 'x' })).toMatchObject(invalid('there is an unknown option of create'))
  })

  it('an argument has no name to misspell, and must be there', async () => {
    expect(() => checkArgument('place', { read: () => '', write: () => {} }, kinds.place)).not.toThrow()
    expect(await failure(() => checkArgument('place', undefined, kinds.place))).toMatchObject(
      invalid('place must be an object with read and write'),
    )
  })
})

describe('options in plain JavaScript', () => {
  const config = configWith()
  const session = createSession(config)
  const baseUrl = 'https://api.example.com'
  const pool = { query: async () => ({ rows: [] }) }
  const redis = { isOpen: true, get: async () => null, eval: async () => null }
  const keys = [{ id: 'one', key: new Uint8Array(32) }]

  it.each<[string, (options: object) => unknown, object, string]>([
    [
      'createAuthConfig',
      (options) => createAuthConfig(options as AuthConfigOptions),
      { ...optionsWith(), redirectUrl: 'https://app.example.com' },
      'redirectUri',
    ],
    ['createSession', (options) => createSession(config, options as SessionOptions), { stroage: {} }, 'storage'],
    [
      'createBearerFetch',
      (options) => createBearerFetch(session, options as { baseUrl: string }),
      { base_url: baseUrl },
      'baseUrl',
    ],
    [
      'encryptedStorage',
      (options) => encryptedStorage(memoryStorage(), options as { keys: typeof keys }),
      { key: keys },
      'keys',
    ],
    ['redisStorage', (options) => redisStorage(redis, options as RedisStorageOptions), { ttl: 5 }, 'ttlMs'],
    ['postgresStorage', (options) => postgresStorage(pool, options as PostgresStorageOptions), { tabel: 'x' }, 'table'],
    ['pendingLogins', (options) => pendingLogins(memoryStorage(), options), { clok: config.clock }, 'clock'],
    ['getAccessToken', (options) => session.getAccessToken(options), { forceRefesh: true }, 'forceRefresh'],
    ['getAccessToken', (options) => session.getAccessToken(options), { minValid: 60_000 }, 'minValidMs'],
    ['resume', (options) => session.resume(options), { afte: 'sign-out' }, 'after'],
    ['readCallback', (options) => readCallback(null, baseUrl, options), { nowMS: 1 }, 'nowMs'],
    ['exchangeCode', (options) => exchangeCode(config, {} as never, options), { sinal: 1 }, 'signal'],
    ['refreshTokens', (options) => refreshTokens(config, tokensWith(), options), { signl: 1 }, 'signal'],
  ])(
    '%s refuses an option that it does not know, and names the one that was meant',
    async (caller, call, options, meant) => {
      expect(await failure(() => call(options))).toMatchObject({
        code: 'config_invalid',
        message: expect.stringMatching(`^Configuration: \\w+ is not an option of ${caller}\\. Use ${meant}\\.$`),
      })
    },
  )

  const tokenStorages = 'indexedDbStorage() in a page, or memoryStorage()'
  it.each<[string, string, (storage: never) => unknown]>([
    ['createSession', tokenStorages, (storage) => createSession(config, { storage })],
    ['encryptedStorage', tokenStorages, (storage) => encryptedStorage(storage, { keys })],
    ['pendingLogins', 'sessionStorage or memoryStorage()', (storage) => pendingLogins(storage)],
  ])('%s given text names %s, and given a function says to call it', async (_, example, call) => {
    const needed = 'Configuration: storage must be an object with getItem, setItem and removeItem'
    expect(await failure(() => call('localStorage' as never))).toMatchObject({
      code: 'config_invalid',
      message: `${needed}, such as ${example}.`,
    })
    expect(await failure(() => call(memoryStorage as never))).toMatchObject({
      code: 'config_invalid',
      message: `${needed}. Call the function that returns it.`,
    })
  })

  it('pendingLogins takes a config, of which it uses the clock', () => {
    expect(() => pendingLogins(memoryStorage(), config)).not.toThrow()
  })

  it.each<[string, () => unknown]>([
    ['scope', () => createAuthConfig({ ...optionsWith(), scope: ['api.access'] } as unknown as AuthConfigOptions)],
    ['fetch', () => createAuthConfig({ ...optionsWith(), fetch: 'fetch' } as unknown as AuthConfigOptions)],
    ['onEvent', () => createAuthConfig({ ...optionsWith(), onEvent: {} } as unknown as AuthConfigOptions)],
    ['clock', () => createAuthConfig({ ...optionsWith(), clock: Date } as unknown as AuthConfigOptions)],
    [
      'basicEncoding',
      () => createAuthConfig({ ...optionsWith(), basicEncoding: 'url' } as unknown as AuthConfigOptions),
    ],
    [
      'redirectUri',
      () => createAuthConfig({ ...optionsWith(), redirectUri: new URL(baseUrl) } as unknown as AuthConfigOptions),
    ],
    ['createAuthConfig', () => createAuthConfig(undefined as unknown as AuthConfigOptions)],
    ['storage', () => createSession(config, { storage: 'localStorage' } as unknown as SessionOptions)],
    ['key', () => createSession(config, { key: 7 } as unknown as SessionOptions)],
    ['createSession', () => createSession(config, memoryStorage() as SessionOptions)],
    ['createBearerFetch', () => createBearerFetch('token', undefined as unknown as { baseUrl: string })],
    ['baseUrl', () => createBearerFetch('token', {} as { baseUrl: string })],
    ['origins', () => createBearerFetch('token', { origins: baseUrl } as unknown as { baseUrl: string })],
    ['elsewhere', () => createBearerFetch('token', { baseUrl, elsewhere: 'throw' as 'reject' })],
    ['fetch', () => createBearerFetch('token', { baseUrl, fetch: {} as typeof fetch })],
    ['storage', () => encryptedStorage('localStorage' as never, { keys })],
    ['keys', () => encryptedStorage(memoryStorage(), { keys: 'secret' as never })],
    ['encryptedStorage', () => encryptedStorage(memoryStorage(), undefined as never)],
    ['keys', () => encryptedStorage(memoryStorage(), {} as never)],
    ['client', () => redisStorage('redis://127.0.0.1' as never)],
    ['prefix', () => redisStorage(redis, { prefix: 7 } as never)],
    ['ttlMs', () => redisStorage(redis, { ttlMs: '5' } as never)],
    ['pool', () => postgresStorage('postgres://127.0.0.1' as never)],
    ['table', () => postgresStorage(pool, { table: 7 } as never)],
    ['ttlMs', () => postgresStorage(pool, { ttlMs: '5' } as never)],
    ['after', () => session.resume({ after: 'signout' } as never)],
    ['getAccessToken', () => session.getAccessToken(true as never)],
    ['getAccessToken', () => session.getAccessToken('a rejected token' as never)],
    ['resume', () => session.resume('sign-out' as never)],
    ['pendingLogins', () => pendingLogins(memoryStorage(), 7 as never)],
    ['source', () => createBearerFetch(undefined as never, { baseUrl })],
    ['source', () => createBearerFetch({} as never, { baseUrl })],
    ['keys', () => encryptedStorage(memoryStorage(), { keys: ['a secret'] as never })],
    ['id', () => encryptedStorage(memoryStorage(), { keys: [{ id: 7, key: keys[0]?.key }] as never })],
    ['createSession', () => createSession(undefined as never)],
    ['createSession', () => createSession({ authUrl: baseUrl } as never)],
    ['startLogin', () => startLogin(undefined as never)],
    ['returnTo', () => startLogin(config, { returnTo: new URL(baseUrl) } as never)],
    ['params', () => startLogin(config, { params: 'prompt=login' } as never)],
    ['params', () => startLogin(config, { params: { prompt: ['login'] } } as never)],
    ['state', () => startLogin(config, { state: 7 } as never)],
    ['retrunTo', () => startLogin(config, { retrunTo: '/' } as never)],
    ['nowMs', () => readCallback(null, baseUrl, { nowMs: new Date() } as never)],
    ['exchangeCode', () => exchangeCode(undefined as never, {} as never)],
    ['signal', () => exchangeCode(config, {} as never, { signal: new AbortController() } as never)],
    ['refreshTokens', () => refreshTokens(optionsWith() as never, tokensWith())],
    ['tokens', () => refreshTokens(config, undefined as never)],
    ['tokens', () => refreshTokens(config, 'a refresh token' as never)],
    ['signal', () => refreshTokens(config, tokensWith(), { signal: 5_000 } as never)],
    ['storage', () => pendingLogins('sessionStorage' as never)],
    ['clock', () => pendingLogins(memoryStorage(), { clock: Date.now } as never)],
    ['open', () => storageSuite(memoryStorage() as never)],
    ['lock', () => storageSuite(memoryStorage, { lock: false } as never)],
    ['limitMs', () => storageSuite(memoryStorage, { limitMs: '5' } as never)],
  ])('a wrong type of %s is refused with its name', async (name, call) => {
    expect(await failure(call)).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining(name),
    })
  })
})

test('every option of the service may be undefined', async () => {
  const names = ['dev', 'authPort', 'basePort', 'authUrl', 'baseUrl', 'dataFile', 'databaseUrl', 'passwordScheme']
  const more = [
    'rotation',
    'graceMs',
    'accessTokenLifeMs',
    'codeLifeMs',
    'tokenResponse',
    'redirectUris',
    'allowedOrigins',
  ]
  const service = await createService(Object.fromEntries([...names, ...more].map((name) => [name, undefined])))
  const absent = { times: undefined, match: { method: undefined, path: undefined, origin: undefined } }
  service.dev.addFault({ effect: { status: 418 }, ...absent })
  expect((await service.fetch(`${service.authUrl}/nowhere`)).status).toBe(418)
  await service.close()
})
