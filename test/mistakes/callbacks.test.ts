import { expect, it } from 'vitest'
import { startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import { pendingLogins } from '../../src/pending-logins.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import { secret } from '../support/canary.ts'
import { rigOf } from '../support/rig-of.ts'
import { callbackUrl, configWith, failure, redirectUri } from '../support/token-flow.ts'

// Callbacks that cannot be finished. Each message says why, and what to do.

const config = configWith()

it('a callback without iss says which option demands it', async () => {
  const required = configWith({ issuer: 'https://auth.example.com', issuerParameter: 'required' })
  const { pending } = await startLogin(required)
  const now = { nowMs: required.clock.wallMs() }
  expect(await failure(() => readCallback(pending, callbackUrl(pending, { code: 'c' }), now))).toMatchObject({
    code: 'issuer_mismatch',
    message: 'The callback has another iss, or none. Check issuer and issuerParameter.',
  })
})

it('a callback that is used or old says so, and what to do', async () => {
  const logins = pendingLogins(memoryStorage(), config)
  const { pending } = await startLogin(config)
  const callback = callbackUrl(pending, { code: 'c' })
  await logins.save(pending)
  await logins.take(callback)
  expect(await failure(logins.take(callback))).toMatchObject({
    code: 'already_handled',
    message: 'This login was finished before. Continue with its session, or sign in again.',
  })
  expect(await failure(pendingLogins(memoryStorage()).take(callback))).toMatchObject({
    code: 'flow_not_found',
    message: 'The login of this callback is finished, too old, or began elsewhere. Sign in again.',
  })
})

it.each(['', '/callback', redirectUri, `${redirectUri}?tab=1`])(
  'a URL without code, error and state (%j) is no callback, and not one of another login',
  async (url) => {
    const { pending } = await startLogin(config)
    expect(await failure(() => readCallback(pending, url))).toMatchObject({
      code: 'callback_malformed',
      message: 'The callback has no code and no state in its query. Pass the whole URL.',
    })
  },
)

it('a callback whose host holds the code: the message does not quote the host', async () => {
  const { pending } = await startLogin(config)
  const code = secret('zqjo-code').toLowerCase()
  const { message } = (await failure(() => readCallback(pending, `https://&__proto__=${code}`))) as Error
  expect(message).toBe('The callback is not at https://app.example.com/callback, the redirectUri. Open the app there.')
})

it.each<[string, string]>([
  ['http://localhost:3000', 'is not at https://app.example.com/callback, the redirectUri. Open the app there.'],
  [
    `https://${'a'.repeat(200)}.com`,
    'is not at https://app.example.com/callback, the redirectUri. Open the app there.',
  ],
  ['https://app.example.com/other', 'is not at https://app.example.com/callback, the redirectUri. Open the app there.'],
  ['https://[', 'is not at https://app.example.com/callback, the redirectUri. Open the app there.'],
])('a callback at %s: the message names what differs, without the query', async (place, what) => {
  const { pending } = await startLogin(config)
  const url = `${place}?code=${secret('code')}&state=${pending.state}`
  expect(await failure(() => readCallback(pending, url))).toMatchObject({
    code: 'callback_malformed',
    message: `The callback ${what}`,
  })
})

it('readCallback takes the location of a page, which is like a URL', async () => {
  const { pending } = await startLogin(config)
  const href = callbackUrl(pending, { code: 'c' })
  const location = { href, toString: () => href } as unknown as URL
  expect(readCallback(pending, location, { nowMs: config.clock.wallMs() })).toBeDefined()
})

it('a used callback link of a backend says so on its page', async () => {
  const browser = (await rigOf()).browser()
  const { pathname, search } = await browser.goToCallback('/')
  await browser.send(`${pathname}${search}`, {}, 'cross-site')
  await browser.logOut()
  const html = await (await browser.send(`${pathname}${search}`, {}, 'cross-site')).text()
  const [, message = ''] = /<p>(No matching login was found: it was finished, .*? Sign in again\.)</.exec(html) ?? []
  expect(message.length).toBeGreaterThan(100)
  expect(message.length).toBeLessThanOrEqual(160)
})
