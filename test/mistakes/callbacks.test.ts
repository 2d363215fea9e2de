import { expect, it } from 'vitest'
import { startLogin } from '../../src/authorize.ts'
import { readCallback } from '../../src/callback.ts'
import { pendingLogins } from '../../src/pending-logins.ts'
import { memoryStorage } from '../../src/storage/memory.ts'
import { rigOf } from '../support/rig-of.ts'
import { callbackUrl, configWith, failure } from '../support/token-flow.ts'

// Callbacks that cannot be finished. Each message says why, and what to do.

const config = configWith()

it('C-025 a callback without iss says which option demands it, and when to remove that', async () => {
  const required = configWith({ issuer: 'https://auth.example.com', issuerParameter: 'required' })
  const { pending } = await startLogin(required)
  const now = { nowMs: required.clock.wallMs() }
  expect(await failure(() => readCallback(pending, callbackUrl(pending, { code: 'c' }), now))).toMatchObject({
    code: 'issuer_mismatch',
    message:
      "The callback has no iss, which issuerParameter: 'required' demands. Remove that option if the service sends none.",
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
    message:
      'No login of this callback was found: it was finished before, is too old, or began elsewhere. Sign in again.',
  })
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
