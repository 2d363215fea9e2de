// @module-tag chromium

import { createServer, type Server } from 'node:http'
import { memoryStorage } from 'agent-auth'
import { createBackend } from 'agent-auth/backend'
import { toNodeHandler } from 'agent-auth/backend/node'
import { type Service, startService } from 'agent-service'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { clientOf } from '../../service/test/support/login.ts'
import { launchChromium } from '../support/chromium.ts'
import { listen } from '../support/listen.ts'
import type {} from './backend-client-app.ts'
import { buildScript } from './built-app.ts'
import { untilTrue } from './rig.ts'

// src/backend/client in pages of a backend. The back/forward cache is on, as in every browser people use.

let browser: Browser
let service: Service
let app: Server
let origin: string
let context: BrowserContext

beforeAll(async () => {
  const script = await buildScript('backend-client-app.ts')
  browser = await launchChromium({ build: 'whole', ignoreDefaultArgs: ['--disable-back-forward-cache'] })
  app = createServer((request, response) => {
    void handle(request, response, () => {
      const isScript = request.url === '/app.js'
      response.writeHead(200, { 'content-type': isScript ? 'text/javascript' : 'text/html' })
      response.end(isScript ? script : '<!doctype html><title>App</title><script type="module" src="/app.js"></script>')
    })
  })
  origin = `http://127.0.0.1:${await listen(app)}`
  const redirectUri = `${origin}/auth/callback`
  service = await startService({ dev: 'on', redirectUris: [redirectUri] })
  service.dev.autoApprove('ada@demo.example')
  const { clientId, clientSecret } = clientOf(service, 'Demo confidential')
  const { authUrl, baseUrl } = service
  const secrets = ['a-secret-of-this-test-0123456789-0123']
  const routes = ['POST /api/llm_models/search']
  const handle = toNodeHandler(
    createBackend({
      authUrl,
      baseUrl,
      clientId,
      clientSecret,
      redirectUri,
      sessions: memoryStorage(),
      secrets,
      proxy: routes,
    }),
  )
})
beforeEach(async () => {
  context = await browser.newContext()
})
afterEach(() => context.close())
afterAll(async () => {
  await browser?.close()
  await service?.close()
  app?.closeAllConnections()
  app?.close()
})

const untilStatus = (page: Page, status: string): Promise<unknown> =>
  untilTrue(page, (wanted) => window.page?.auth.state.status === wanted, status)

async function open(status: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(`${origin}/agents`)
  await untilStatus(page, status)
  return page
}

async function signedIn(): Promise<Page> {
  const page = await open('signed-out')
  await page.evaluate(() => window.page.auth.signIn({ returnTo: '/agents?page=2#top' }))
  await page.waitForURL(`${origin}/agents?page=2#top`)
  await untilStatus(page, 'signed-in')
  return page
}

it('signs in, calls the API through the backend, and signs out in both tabs', async () => {
  const other = await open('signed-out')
  const page = await signedIn()
  await untilStatus(other, 'signed-in')
  expect(await page.evaluate(() => window.page.auth.claims?.tenant)).toBe('demo')
  const status = await other.evaluate(async () => {
    const headers = { 'content-type': 'application/json' }
    const request = new Request('/api/llm_models/search', { method: 'POST', headers, body: '{"limit":1,"offset":0}' })
    return (await window.page.auth.fetch(request)).status
  })
  expect(status).toBe(200)
  await page.evaluate(() => window.page.auth.signOut())
  await untilStatus(other, 'signed-out')
  expect(await page.evaluate(() => window.page.auth.state.reason)).toBe('signed_out')
})

it('is signed out when Back shows a page from the cache after a sign-out in another tab', async () => {
  const page = await signedIn()
  const other = await open('signed-in')
  await page.goto(`${service.baseUrl}/openapi.json`)
  await other.evaluate(() => window.page.auth.signOut())
  const back = page.waitForEvent('framenavigated')
  await page.evaluate(() => history.back())
  await back
  await untilStatus(page, 'signed-out')
  expect(await page.evaluate(() => window.page.isRestored)).toBe(true)
})

it('hears the other tabs again after it came back from the cache', async () => {
  const page = await signedIn()
  const other = await open('signed-in')
  await page.goto(`${service.baseUrl}/openapi.json`)
  const back = page.waitForEvent('framenavigated')
  await page.evaluate(() => history.back())
  await back
  await untilTrue(page, () => window.page?.isRestored)
  await other.evaluate(() => window.page.auth.signOut())
  await untilStatus(page, 'signed-out')
})
