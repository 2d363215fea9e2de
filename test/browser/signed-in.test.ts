// @module-tag chromium

import { createServer, type Server } from 'node:http'
import { memoryStorage, readClaims } from 'agent-auth'
import { type Backend, createBackend } from 'agent-auth/backend'
import { toNodeHandler } from 'agent-auth/backend/node'
import { signedIn, type TestService, testService } from 'agent-auth/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { sharedChromium } from '../support/chromium.ts'
import { listen } from '../support/listen.ts'
import { type AppServer, serveApp } from './app-server.ts'
import { call, started } from './rig.ts'

let service: TestService
let browser: Browser
let app: AppServer
beforeAll(async () => {
  app = await serveApp(() => service)
  const redirectUris = [`${app.origin}/memory/callback`]
  ;[service, browser] = await Promise.all([
    testService({ transport: 'loopback', service: { redirectUris } }),
    sharedChromium(),
  ])
})
afterAll(async () => {
  await service?.close()
  app?.close()
})

/** Runs a test in a page of a fresh profile. */
async function inPage(work: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  await work(await context.newPage())
}

describe('a page of a single-page app', () => {
  test.each([
    ['indexed', undefined],
    ['local', 'localStorage'],
    ['session', 'sessionStorage'],
  ] as const)('with the storage "%s" is signed in when it opens, and refreshes and reloads', (kind, storage) =>
    inPage(async (page) => {
      await signedIn(page, { service, storage, url: `${app.origin}/${kind}/home` })
      expect(page.url()).toBe(`${app.origin}/${kind}/home`)
      expect(await started(page)).toBe('signed-in')
      await service.dev.expireAccessTokens()
      expect(await call(page)).toBe(200)
      await page.reload()
      expect(await started(page)).toBe('signed-in')
      expect(await call(page)).toBe(200)
    }),
  )

  test('is signed in with tokens of the test, as the user of the test', () =>
    inPage(async (page) => {
      const tokens = await service.login('rui@demo.example')
      const { authUrl } = service
      const { clientId } = service.config
      await signedIn(page, { tokens, authUrl, clientId, url: `${app.origin}/indexed/home` })
      expect(await started(page)).toBe('signed-in')
      const subject = await page.evaluate(() => window.app.auth.session.claims?.subject)
      expect(subject).toBe(readClaims(tokens)?.subject)
      expect(subject).not.toBe(service.session.claims?.subject)
    }))

  test('signs in by its own button while the service approves', () =>
    inPage(async (page) => {
      await page.goto(`${app.origin}/memory/home`)
      await started(page)
      await service.approving(service.email, async () => {
        await page.locator('#redirect').click()
        await page.getByText('signed-in', { exact: true }).waitFor()
      })
      expect(await call(page)).toBe(200)
    }))
})

describe('a page of a backend', () => {
  let confidential: TestService
  let server: Server
  let origin: string
  beforeAll(async () => {
    let backend: Backend
    server = createServer((request, response) =>
      toNodeHandler(backend)(request, response, async () => {
        response.end((await backend.getSession(request)).status)
      }),
    )
    origin = `http://127.0.0.1:${await listen(server)}`
    const redirectUri = `${origin}/auth/callback`
    const started = testService({
      transport: 'loopback',
      client: 'confidential',
      service: { redirectUris: [redirectUri] },
    })
    confidential = await started
    const secrets = ['a-secret-of-this-test-that-is-long-enough']
    backend = createBackend({ ...confidential.options, redirectUri, sessions: memoryStorage(), secrets })
  })
  afterAll(async () => {
    server?.close()
    await confidential?.close()
  })

  test('is signed in by the login route, without forms', () =>
    inPage(async (page) => {
      await signedIn(page, { service: confidential, loginUrl: `${origin}/auth/login`, url: `${origin}/home` })
      expect(page.url()).toBe(`${origin}/home`)
      expect(await page.textContent('body')).toBe('signed-in')
    }))

  test('whose redirect URI the service does not know is refused with the remedy', () =>
    inPage(async (page) => {
      const loginUrl = `${service.authUrl}/auth/v1/authorize`
      const refused = signedIn(page, { service, loginUrl, url: origin })
      await expect(refused).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining('redirectUris'),
      })
    }))
})
