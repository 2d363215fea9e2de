import { afterEach, expect, it } from 'vitest'
import { startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import { readClaims } from '../../src/claims.ts'
import { exchangeCode } from '../../src/exchange.ts'
import { pendingLogins } from '../../src/pending-logins.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import { refreshTokens } from '../../src/token-endpoint.ts'
import { callbackUrl, configWith, failure, grantFor, json, redirectUri, scriptedFetch } from '../support/token-flow.ts'

// Another script of the page or process may add members to the prototype of all objects.
let added: string | undefined
function addToAllObjects(name: string, value: unknown): void {
  added = name
  Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true, enumerable: true })
}
afterEach(() => {
  if (added) Reflect.deleteProperty(Object.prototype, added)
})

it('tokens without a refresh token do not take that of all objects', async () => {
  const { fetch, calls } = scriptedFetch(() => json({ access_token: 'x' }))
  const config = configWith({ fetch })
  addToAllObjects('refreshToken', 'foreign')
  expect(await failure(refreshTokens(config, { accessToken: 'a' }))).toMatchObject({ code: 'login_required' })
  expect(calls).toEqual([])
})

it.each([
  ['refresh_token', 'refreshToken'],
  ['scope', 'scope'],
  ['expires_in', 'expiresAtMs'],
])('a token response without %s does not take that of all objects', async (name, member) => {
  const { fetch } = scriptedFetch(() => json({ access_token: 'x' }))
  const config = configWith({ fetch })
  const grant = await grantFor(config)
  addToAllObjects(name, name === 'expires_in' ? 60 : 'foreign')
  expect(Object.keys(await exchangeCode(config, grant))).not.toContain(member)
})

it('a login without a return URL does not take that of all objects', async () => {
  const config = configWith()
  const { pending } = await startLogin(config)
  const stored = pendingLogins(memoryStorage(), config)
  await stored.save(pending)
  addToAllObjects('returnTo', 'https://evil.example')
  const url = callbackUrl(pending, { code: 'c' })
  for (const login of [pending, await stored.take(url)])
    expect(readCallback(login, url, { nowMs: config.clock.wallMs() }).returnTo).toBeUndefined()
})

it('a callback without a code does not take that of all objects', async () => {
  const { pending } = await startLogin(configWith())
  const nowMs = pending.createdAtMs
  addToAllObjects('code', 'foreign')
  const read = () => readCallback(pending, `${redirectUri}?state=${pending.state}`, { nowMs })
  expect(await failure(read)).toMatchObject({ code: 'callback_malformed' })
})

it('the claims of a token are its own', () => {
  const token = `e30.${Buffer.from('{"sub":"me"}').toString('base64url')}.x`
  addToAllObjects('tenant', 'foreign')
  expect(Object.keys(readClaims({ accessToken: token }) ?? {})).toEqual(['subject', 'claims'])
})
