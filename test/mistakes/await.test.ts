import { expect, it, vi } from 'vitest'
import { type PendingLogin, startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import type { AuthConfig } from '../../src/config.ts'
import { pendingLogins } from '../../src/pending-logins.ts'
import { refreshTokens } from '../../src/refresh.ts'
import { createSession } from '../../src/session.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import { configWith, failure, redirectUri, tokensWith } from '../support/token-flow.ts'
import { invalid } from '../support/wrong-calls.ts'

// Calls as plain JavaScript makes them, where no type checker asks for `await`.

type Login = Awaited<ReturnType<typeof startLogin>>

const config: AuthConfig = configWith()
const unawaited = (): Login => startLogin(config) as unknown as Login

it.each<[string, (login: Login) => unknown]>([
  ['its url', ({ url }) => url],
  ['its pending', ({ pending }) => pending],
  ['it as text, as location.assign does', (login) => String(login)],
  ['its url after it was created', (login) => Promise.resolve(login).then(() => login.url)],
])('startLogin without await: reading %s says that await is missing', async (_, read) => {
  expect(await failure(async () => read(unawaited()))).toMatchObject(
    invalid('startLogin returns a promise. Write await before startLogin'),
  )
})

it('startLogin without await: the page stays where it is', async () => {
  const location = { assign: vi.fn() }
  await failure(async () => location.assign(unawaited().url))
  await failure(async () => location.assign(`${unawaited()}`))
  expect(location.assign).not.toHaveBeenCalled()
})

it('startLogin: its result as text, as location.assign takes it, says that .url is missing', async () => {
  const location = { assign: vi.fn() }
  const login = await startLogin(config)
  expect(await failure(async () => location.assign(`${login}`))).toMatchObject(
    invalid('startLogin returns an object. Use its .url'),
  )
  expect(location.assign).not.toHaveBeenCalled()
})

it('startLogin with await: the promise and what it resolves to show neither getter', async () => {
  const promise = startLogin(config)
  expect(Object.keys(promise)).toEqual([])
  expect(Object.keys(await promise)).toEqual(['url', 'pending'])
})

it.each<[string, unknown, string]>([
  ['a promise', startLogin(config), 'pending is a promise. Write await before the call that returns it'],
  ['undefined', undefined, 'save needs the pending of await startLogin(config)'],
  ['a login with its URL', await startLogin(config), 'save needs the pending of await startLogin(config)'],
])('pendingLogins: saving %s says what save needs, and stores nothing', async (_, pending, what) => {
  const storage = memoryStorage()
  const setItem = vi.spyOn(storage, 'setItem')
  expect(await failure(pendingLogins(storage).save(pending as PendingLogin))).toMatchObject(invalid(what))
  expect(setItem).not.toHaveBeenCalled()
})

it.each<[string, string, () => unknown]>([
  [
    'readCallback',
    'pending',
    () => readCallback(Promise.resolve(null) as unknown as null, `${redirectUri}?code=c&state=s`),
  ],
  ['session.signIn', 'tokens', () => createSession(config).signIn(Promise.resolve(tokensWith()) as never)],
  ['refreshTokens', 'tokens', () => refreshTokens(config, Promise.resolve(tokensWith()) as never)],
])('%s: a promise as %s says that await is missing', async (_, name, call) => {
  expect(await failure(call as () => Promise<unknown>)).toMatchObject(
    invalid(`${name} is a promise. Write await before the call that returns it`),
  )
})
