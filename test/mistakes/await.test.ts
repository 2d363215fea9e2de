import { expect, it, vi } from 'vitest'
import { type PendingLogin, startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import type { AuthConfig } from '../../src/config.ts'
import { pendingLogins } from '../../src/pending-logins.ts'
import { createSession } from '../../src/session.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { configWith, failure, redirectUri, tokensWith } from '../support/token-flow.ts'
import { invalid } from '../support/wrong-calls.ts'

// Calls as plain JavaScript makes them, where no type checker asks for `await`.

const config: AuthConfig = configWith()

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
