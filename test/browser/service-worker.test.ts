// @module-tag chromium

import { readFileSync } from 'node:fs'
import type { BrowserContext, Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { leaks } from '../support/canary.ts'
import { buildScript } from './built-app.ts'
import type { WorkerConfig } from './greedy-worker.ts'
import { browserRig, call, signIn, started, untilTrue } from './rig.ts'

const rig = browserRig()

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
