// @module-tag chromium

import { readFileSync } from 'node:fs'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { leaks } from '../support/canary.ts'
import { buildScript } from './built-app.ts'
import type { WorkerConfig } from './greedy-worker.ts'
import type { HoldingMessage } from './holding-worker.ts'
import { browserRig, call, signIn, started, statusOf, untilLockWanted, untilResolvesTrue, untilTrue } from './rig.ts'

const rig = browserRig()
const tokenPath = '/auth/v1/token'
const apiPath = '/api/parent_agents/search'

/** A page of the app that the worker answers for. */
async function controlledPage(leavesAlone: WorkerConfig['leavesAlone'], context: BrowserContext): Promise<Page> {
  const { authUrl, baseUrl, clients } = rig.service
  const clientId = clients.find(({ name }) => name === 'Demo public')?.clientId ?? ''
  const redirectUri = `${rig.origin}/indexed/callback`
  const config: WorkerConfig = { authUrl, baseUrl, clientId, redirectUri, leavesAlone }
  rig.app.scripts['/worker.js'] =
    `globalThis.config = ${JSON.stringify(config)};${await buildScript('greedy-worker.ts')}`
  const page = await rig.open(context, '/indexed/home')
  await register(page)
  return page
}

/** A signed-in page whose requests a worker can hold. */
async function heldPage(context: BrowserContext): Promise<Page> {
  rig.app.scripts['/worker.js'] = await buildScript('holding-worker.ts')
  const page = await rig.signedIn(context, 'indexed')
  await register(page)
  return page
}

/** Sets the limit of each request in the pages that the context loads from now on. */
const setTimeoutMs = (context: BrowserContext, timeoutMs: number): Promise<unknown> =>
  context.addInitScript((limitMs) => {
    window.adjust = (options) => ({ ...options, timeoutMs: limitMs })
  }, timeoutMs)

async function register(page: Page): Promise<void> {
  await page.evaluate(async () => {
    // The app's policy wants a trusted URL for it.
    const { trustedTypes } = window as unknown as { trustedTypes: { createPolicy(name: string, rules: object): never } }
    const policy: { createScriptURL(url: string): string } = trustedTypes.createPolicy('worker', {
      createScriptURL: (url: string) => url,
    })
    await navigator.serviceWorker.register(policy.createScriptURL('/worker.js'))
  })
  await untilTrue(page, () => navigator.serviceWorker.controller !== null)
}

/** Everything the worker has kept: addresses, headers and bodies. */
const kept = (page: Page): Promise<{ url: string; rest: string }[]> =>
  page.evaluate(async () => {
    const cache = await caches.open('greedy')
    return Promise.all(
      (await cache.keys()).map(async (request) => {
        const response = await cache.match(request)
        const headers = [...request.headers, ...(response?.headers ?? [])]
        return { url: request.url, rest: `${headers} ${await response?.text()}` }
      }),
    )
  })

/** Tells the worker what to do, and resolves when it does so. */
const tell = (page: Page, message: HoldingMessage): Promise<void> =>
  page.evaluate(
    (given) =>
      new Promise<void>((resolve) => {
        const { port1, port2 } = new MessageChannel()
        port1.onmessage = () => resolve()
        navigator.serviceWorker.controller?.postMessage(given, [port2])
      }),
    message,
  )

const tokenOf = (page: Page): Promise<string> => page.evaluate(() => window.app.auth.session.getAccessToken())

const leaksOf = (entries: { url: string; rest: string }[]): unknown[] =>
  entries.flatMap(({ url, rest }) => [...leaks(url, 'address'), ...leaks(rest, 'entry')])

it('a service worker that keeps everything, but for what the documents say, keeps no code, callback or token', async () => {
  const page = await controlledPage('what the documents say', await rig.context())
  await signIn(page)
  expect(await call(page)).toBe(200)
  await rig.service.dev.expireAccessTokens()
  expect(await call(page)).toBe(200)
  expect(await page.evaluate(() => window.app.auth.fetch('/openapi.json').then(({ status }) => status))).toBe(200)
  await page.reload()
  expect(await started(page)).toBe('signed-in')
  const entries = await kept(page)
  expect(entries.map(({ url }) => url.replace(rig.origin, '')).sort()).toEqual([
    '/app.js',
    '/before.js',
    '/indexed/home',
  ])
  expect(leaksOf(entries)).toEqual([])
  expect(rig.tokenRequests('refresh_token')).toBe(1)
})

it('a worker that leaves nothing alone keeps the callback and the tokens', async () => {
  // Not watched: what the watch looks for is what this worker does.
  const page = await controlledPage('nothing', await rig.browser.newContext())
  await signIn(page)
  expect(await call(page)).toBe(200)
  const entries = await kept(page)
  await page.context().close()
  const at = (path: string) => entries.find(({ url }) => new URL(url).pathname === path)
  expect(at('/indexed/callback')?.url).toMatch(/[?&]code=./)
  expect(at('/auth/v1/token')?.rest).toContain('"access_token"')
  expect(at('/api/parent_agents/search')?.rest).toMatch(/(^|,)authorization,Bearer ./)
})

it('the worker leaves alone what docs/browser.md says', () => {
  const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
  const [rule = ''] = /if \(auth\.isCallbackUrl.*/.exec(read('../../docs/browser.md')) ?? []
  expect(rule).toContain('return')
  expect(read('./greedy-worker.ts')).toContain(rule)
})

it('a service worker that holds the token request for a while delays every tab, and they share the tokens of this one request', async () => {
  const context = await rig.context()
  await setTimeoutMs(context, 60_000)
  const page = await heldPage(context)
  const other = await rig.open(context, '/indexed/home')
  await rig.service.dev.expireAccessTokens()
  await tell(page, { hold: tokenPath })
  const outcomes = [page, other].map(call)
  await untilLockWanted(page)
  expect(rig.tokenRequests('refresh_token')).toBe(0)
  await tell(page, 'let go')
  expect(await Promise.all(outcomes)).toEqual([200, 200])
  expect(rig.tokenRequests('refresh_token')).toBe(1)
  expect(await tokenOf(other)).toBe(await tokenOf(page))
})

it('a service worker that holds the token request for ever ends no session: the call rejects after `timeoutMs`, the lock is free, and a later call succeeds', async () => {
  const context = await rig.context()
  const page = await heldPage(context)
  // Only now, because the sign-in may take longer.
  await setTimeoutMs(context, 1_000)
  await page.reload()
  expect(await started(page)).toBe('signed-in')
  await rig.service.dev.expireAccessTokens()
  await tell(page, { hold: tokenPath })
  expect(await call(page)).toBe('timeout')
  expect(await page.evaluate(() => navigator.locks.query().then(({ held }) => held?.length))).toBe(0)
  expect(await statusOf(page)).toBe('signed-in')
  expect(rig.tokenRequests('refresh_token')).toBe(0)
  await tell(page, 'let go')
  // The worker sends the request although the page has given it up, so the service rotates a token of which the page knows nothing.
  await expect.poll(() => rig.tokenRequests('refresh_token')).toBe(1)
  // On a busy machine this may take longer than `timeoutMs` again.
  await untilResolvesTrue(page, () => window.app.call().then((result) => result === 200))
  expect(await statusOf(page)).toBe('signed-in')
})

it('a service worker that holds an API request holds no other: a refresh, calls of other tabs and a sign-out go on, and the signal of the caller ends it', async () => {
  const context = await rig.context()
  const page = await heldPage(context)
  const other = await rig.open(context, '/indexed/home')
  await tell(page, { hold: apiPath })
  const requested = page.waitForRequest(new RegExp(apiPath))
  const held = page.evaluate((path) => {
    const stop = new AbortController()
    Object.assign(window, { stop })
    const answer = window.app.auth.fetch(path, { method: 'POST', body: '{}', signal: stop.signal })
    return answer.then(
      () => 'response',
      ({ name }: Error) => name,
    )
  }, apiPath)
  await requested
  const before = await tokenOf(page)
  const refreshed = await other.evaluate(() => window.app.auth.session.getAccessToken({ forceRefresh: true }))
  expect(refreshed).not.toBe(before)
  expect(await page.evaluate(() => window.app.auth.fetch('/openapi.json').then(({ status }) => status))).toBe(200)
  await page.evaluate(() => (window as unknown as { stop: AbortController }).stop.abort())
  expect(await held).toBe('AbortError')
  expect(await other.evaluate(() => window.app.codeOf(window.app.auth.signOut()))).toBe('resolved')
  await untilTrue(page, () => window.app.auth.session.state.status === 'signed-out')
})
