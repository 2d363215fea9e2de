// @module-tag chromium

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { userText } from 'agent-auth/texts'
import { type Service, startService } from 'agent-service'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildPackages } from '../../scripts/example.ts'
import { clientOf } from '../../service/test/support/login.ts'
import { launchChromium } from '../support/chromium.ts'
import { runNode } from '../support/example.ts'
import { freePort } from '../support/free-port.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = `${root}examples/frameworks/`
const vite = `${folder}node_modules/vite/bin/vite.js`
const reactRouter = `${folder}node_modules/@react-router/dev/bin.js`
const nuxt = `${folder}node_modules/nuxt/bin/nuxt.mjs`
const astro = `${folder}node_modules/astro/astro.js`

interface App {
  readonly tokensIn: 'page' | 'backend'
  /** How it is built first, if its server does not do that. */
  readonly build?: readonly string[]
  readonly serve: readonly string[]
  readonly router: 'none' | 'guarded'
}

const page: App = { tokensIn: 'page', build: [vite, 'build'], serve: [vite, 'preview'], router: 'guarded' }
const apps: Readonly<Record<string, App>> = {
  vue: page,
  svelte: { ...page, router: 'none' },
  solid: page,
  angular: page,
  sveltekit: { tokensIn: 'backend', serve: [vite, 'dev'], router: 'guarded' },
  'react-router': { tokensIn: 'backend', serve: [reactRouter, 'dev'], router: 'guarded' },
  nuxt: { tokensIn: 'backend', build: [nuxt, 'build'], serve: ['.output/server/index.mjs'], router: 'guarded' },
  astro: { tokensIn: 'backend', build: [astro, 'build'], serve: ['dist/server/entry.mjs'], router: 'guarded' },
}

let service: Service
let browser: Browser
const ports = new Map<string, number>()
/** One after another, while the tests of those before run. */
const builds = new Map<string, Promise<unknown>>()
beforeAll(async () => {
  const redirectUris: string[] = []
  for (const [name, { tokensIn }] of Object.entries(apps)) {
    const port = await freePort()
    ports.set(name, port)
    // The service takes that of a page on every port.
    if (tokensIn === 'backend') redirectUris.push(`http://127.0.0.1:${port}/auth/callback`)
  }
  ;[service, browser] = await Promise.all([
    startService({ dev: 'on', redirectUris, tokenClaims: 'profile' }),
    launchChromium(),
    buildPackages(),
  ])
  let last: Promise<unknown> = Promise.resolve()
  for (const [name, { build }] of Object.entries(apps)) {
    if (!build) continue
    const env = environment(name)
    last = last.then(() => promisify(execFile)(process.execPath, build, { cwd: folder + name, env }))
    last.catch(() => {})
    builds.set(name, last)
  }
})
afterAll(async () => {
  await browser?.close()
  await service?.close()
})

describe.each(Object.entries(apps))('examples/frameworks/%s', (name, { tokensIn, serve, router }) => {
  const problems: string[] = []
  let origin = ''
  let stop: (() => Promise<void>) | undefined
  let context: BrowserContext
  beforeAll(async () => {
    const port = String(ports.get(name))
    origin = `http://127.0.0.1:${port}`
    const cwd = folder + name
    await builds.get(name)
    stop = await runNode(
      [...serve, '--port', port, '--host', '127.0.0.1'],
      environment(name),
      `127\\.0\\.0\\.1:.*${port}`,
      'SIGTERM',
      cwd,
    )
  })
  afterAll(() => stop?.())
  beforeEach(async () => {
    service.dev.autoApprove('ada@demo.example')
    context = await browser.newContext()
    // A development server compiles what a page asks for first.
    context.setDefaultTimeout(90_000)
    context.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('status of 401')) problems.push(message.text())
    })
    context.on('weberror', (error) => problems.push(error.error().message))
  })
  afterEach(async () => {
    await context.close()
    expect(problems.splice(0)).toEqual([])
  })

  async function open(path: string): Promise<Page> {
    const page = await context.newPage()
    await page.goto(origin + path)
    return page
  }
  const button = (page: Page, label: string) => page.getByRole('button', { name: label })
  const models = (page: Page) => page.getByText(/^\d+ models$/)

  test('signs in, calls the API, also after a reload with a refused token, and signs out in another tab', async () => {
    const first = await open('/')
    await button(first, 'Sign in').click()
    await button(first, 'Sign out').waitFor()
    await first.getByText('Ada Admin').waitFor()
    const second = await open(router === 'none' ? '/' : '/models')
    await models(second).waitFor()
    // The page finds a token that it takes for valid, and the API refuses it.
    await service.dev.expireAccessTokens()
    await second.reload()
    await models(second).waitFor()
    await button(second, 'Sign out').click()
    await button(first, 'Sign in').waitFor()
    await models(second).waitFor({ state: 'detached' })
  })

  test.runIf(router === 'guarded')('a protected route signs in and comes back to its path and query', async () => {
    const page = await open('/models?page=2')
    await models(page).waitFor()
    expect(page.url()).toBe(`${origin}/models?page=2`)
  })

  test.runIf(tokensIn === 'page')('a declined login is told, and the next one succeeds', async () => {
    service.dev.autoApprove(undefined)
    const ada = service.people.find(({ email }) => email === 'ada@demo.example')
    const page = await open('/')
    await button(page, 'Sign in').click()
    await page.locator('input[name=email]').fill(ada?.email ?? '')
    await page.locator('input[name=password]').fill(ada?.password ?? '')
    await page.locator('input[name=password]').press('Enter')
    await page.locator('button[value=deny]').click()
    await page.getByRole('alert').getByText(userText('login_denied').text).waitFor()
    service.dev.autoApprove('ada@demo.example')
    await button(page, 'Sign in').click()
    await button(page, 'Sign out').waitFor()
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })
})

function environment(name: string): NodeJS.ProcessEnv {
  const { clientId, clientSecret = '' } = clientOf(service, 'Demo confidential')
  return {
    PATH: process.env.PATH,
    VITE_AGENT_AUTH_URL: service.authUrl,
    VITE_AGENT_BASE_URL: service.baseUrl,
    VITE_AGENT_PUBLIC_CLIENT_ID: service.clients.find(({ kind }) => kind === 'public')?.clientId ?? '',
    AGENT_AUTH_URL: service.authUrl,
    AGENT_BASE_URL: service.baseUrl,
    AGENT_CLIENT_ID: clientId,
    AGENT_CLIENT_SECRET: clientSecret,
    COOKIE_SECRET: 'a-secret-of-this-test-that-is-long-enough',
    HOST: '127.0.0.1',
    PORT: String(ports.get(name)),
    ASTRO_TELEMETRY_DISABLED: '1',
  }
}
