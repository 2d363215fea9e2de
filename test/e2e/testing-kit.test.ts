// @module-tag chromium

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { signedIn, type TestService, testService } from 'agent-auth/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { launchChromium } from '../support/chromium.ts'
import { runFile } from '../support/example.ts'
import { freePort } from '../support/free-port.ts'

// The examples as the tests of an app have them: with the kit in place of their scripts and of forms.

const root = fileURLToPath(new URL('../../', import.meta.url))

let browser: Browser
beforeAll(async () => {
  browser = await launchChromium()
})
afterAll(() => browser?.close())

async function openPage(): Promise<Page> {
  const context = await browser.newContext()
  onTestFinished(() => context.close())
  return context.newPage()
}

/** Builds an example of a single-page app for this service and serves it on a port. */
async function serveExample(name: string, port: number, env: Readonly<Record<string, string>>): Promise<string> {
  const { build, preview } = await import('vite')
  const outDir = await mkdtemp(join(tmpdir(), 'agent-auth-example-'))
  onTestFinished(() => rm(outDir, { recursive: true, force: true }))
  for (const [key, value] of Object.entries(env)) vi.stubEnv(key, value)
  const shared = { root: `${root}examples/${name}`, logLevel: 'error', build: { outDir, emptyOutDir: true } } as const
  try {
    const alias = [{ find: /^agent-auth\/([a-z/]+)$/, replacement: `${root}src/$1/index.ts` }]
    await build({
      ...shared,
      resolve: { alias: [...alias, { find: /^agent-auth$/, replacement: `${root}src/index.ts` }] },
    })
  } finally {
    vi.unstubAllEnvs()
  }
  const server = await preview({ ...shared, preview: { port, host: '127.0.0.1', strictPort: true } })
  onTestFinished(() => server.close())
  return `http://127.0.0.1:${port}`
}

/** Opens the app signed in, and creates an agent. */
async function createAgent(page: Page, service: TestService, url: string): Promise<void> {
  await signedIn(page, { service, url })
  await page.getByLabel('Name', { exact: true }).fill('Night Porter')
  await page.getByLabel('What it should do').fill('Answers at night.')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('night_porter').waitFor()
}

test.each(['spa', 'react-spa'])(
  'the example %s opens signed in, creates an agent and survives a reload',
  async (name) => {
    const port = await freePort()
    const redirectUris = [`http://127.0.0.1:${port}/callback`]
    const service = await testService({ transport: 'loopback', after: onTestFinished, service: { redirectUris } })
    const origin = await serveExample(name, port, {
      VITE_AGENT_AUTH_URL: service.authUrl,
      VITE_AGENT_BASE_URL: service.baseUrl,
      VITE_AGENT_PUBLIC_CLIENT_ID: service.options.clientId,
    })
    const page = await openPage()
    await createAgent(page, service, origin)
    await service.dev.expireAccessTokens()
    await page.reload()
    await page.getByText('13 agents').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out').waitFor()
  },
)

test('the example of a backend opens signed in by its login route, without forms', async () => {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const service = await testService({
    transport: 'loopback',
    client: 'confidential',
    after: onTestFinished,
    service: { redirectUris: [`${origin}/auth/callback`] },
  })
  const { authUrl, baseUrl, clientId, clientSecret = '' } = service.options
  const environment = {
    AGENT_AUTH_URL: authUrl,
    AGENT_BASE_URL: baseUrl,
    AGENT_CLIENT_ID: clientId,
    AGENT_CLIENT_SECRET: clientSecret,
    COOKIE_SECRET: 'a-secret-of-this-test-that-is-long-enough',
    PORT: String(port),
  }
  onTestFinished(await runFile(`${root}examples/node-backend/adapters/node-http.ts`, environment, 'Listening on'))
  const page = await openPage()
  await signedIn(page, { service, loginUrl: `${origin}/auth/login`, url: `${origin}/` })
  const seen = await page.evaluate(() => fetch('/auth/session').then((response) => response.json()))
  expect(seen).toMatchObject({ status: 'signed-in' })
})
