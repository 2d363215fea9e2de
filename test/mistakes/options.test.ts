import { createBackendClient } from 'agent-auth/backend/client'
import { createBrowserAuth } from 'agent-auth/browser'
import { describe, expect, it } from 'vitest'
import { createAgentApi } from '../../src/api/index.ts'
import { createBearerFetch } from '../../src/bearer.ts'
import { pendingLogins } from '../../src/pending-logins.ts'
import { createSession } from '../../src/session.ts'
import { encryptedStorage } from '../../src/storage/encrypted-storage.ts'
import { configWith, failure, optionsWith, scriptedFetch } from '../support/token-flow.ts'
import { backendWith, invalid } from '../support/wrong-calls.ts'

// Mistakes that a new user makes. Each message names what is wrong and what to do.

const config = configWith()
const untyped = (value: unknown): never => value as never

/** An area of the browser, whose methods belong to its class and whose keys are its records. */
class Storage {
  getItem(): null {
    return null
  }
  setItem(): void {}
  removeItem(): void {}
  get [Symbol.toStringTag](): string {
    return 'Storage'
  }
}
const area = new Storage()

describe('storages', () => {
  it.each<[string, (storage: never) => unknown]>([
    ['storage', (storage) => createSession(config, { storage })],
    ['storage', (storage) => encryptedStorage(storage, { keys: [] })],
    ['storage', (storage) => createBrowserAuth({ ...optionsWith(), storage })],
  ])('%s refuses localStorage itself and names what to use', async (name, call) => {
    expect(await failure(() => call(untyped(area)))).toMatchObject(
      invalid(`${name} must not be localStorage or sessionStorage. Use indexedDbStorage()`),
    )
  })

  it('sessions of a backend refuse localStorage itself', async () => {
    expect(await failure(() => backendWith({ sessions: untyped(area) }))).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('sessions must'),
    })
  })

  it('a pending login may be kept in sessionStorage itself', () => {
    expect(() => pendingLogins(untyped(area))).not.toThrow()
    expect(() => createBrowserAuth({ ...optionsWith(), loginStorage: untyped(area) })).not.toThrow()
  })
})

describe('arguments', () => {
  it.each<[unknown, unknown]>([
    [{ baseUrl: 'https://api.example.com' }, createSession(config)],
    [config, { baseUrl: 'https://api.example.com' }],
    [undefined, { baseUrl: 'https://api.example.com' }],
  ])('createBearerFetch(%o, …) says what its first argument is', async (source, options) => {
    expect(await failure(() => createBearerFetch(untyped(source), untyped(options)))).toMatchObject(
      invalid('source must be an object with getAccessToken'),
    )
  })

  it.each([{ baseUrl: config.baseUrl }, { baseUrl: config.baseUrl, fetch: undefined }])(
    'createAgentApi without fetch says what to pass: %o',
    async (options) => {
      expect(await failure(() => createAgentApi(untyped(options)))).toMatchObject(
        invalid('fetch is missing. Pass { baseUrl, fetch: createBearerFetch(…) }'),
      )
    },
  )

  it('createAgentApi says what to pass instead of a session', async () => {
    expect(await failure(() => createAgentApi(untyped(createSession(config))))).toMatchObject(
      invalid('fetch is missing. Pass { baseUrl, fetch: createBearerFetch(…) }'),
    )
  })

  it.each([undefined, null, 'name'])('parentAgents.create(%j) says what it needs and sends nothing', async (agent) => {
    const { fetch, calls } = scriptedFetch()
    const api = createAgentApi({ baseUrl: config.baseUrl, fetch })
    expect(await failure(api.parentAgents.create(untyped(agent)))).toMatchObject(
      invalid('create needs an object with agent_name'),
    )
    expect(calls).toEqual([])
  })
})

it('createBackendClient(text) says how the option is written', async () => {
  expect(await failure(() => createBackendClient(untyped('/auth')))).toMatchObject(invalid('the options are basePath'))
})
