// @module-tag chromium

import { createServer } from 'node:http'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { sharedChromium } from '../../../test/support/chromium.ts'
import { listen } from '../../../test/support/listen.ts'
import type { Service } from '../../src/index.ts'
import { authorizeUrl, clientOf, exchange, personOf } from '../support/login.ts'
import { startService } from '../support/start.ts'

/** An application on an origin of its own: it writes down the callbacks and lets them show a page. */
interface Application {
  redirectUri: string
  callbacks: URL[]
  close(): Promise<void>
}

let browser: Browser
let service: Service
let application: Application
let context: BrowserContext
let page: Page
let problems: string[]

beforeAll(async () => {
  application = await startApplication()
  browser = await sharedChromium()
  service = await startService({ dev: 'on', redirectUris: [application.redirectUri] })
})
afterAll(async () => {
  await service.close()
  await application.close()
})
beforeEach(async ({ onTestFinished }) => {
  await service.dev.reset()
  application.callbacks.length = 0
  problems = []
  context = await browser.newContext()
  onTestFinished(() => context.close())
  page = await context.newPage()
  watch(page)
})
afterEach(() => expect(problems).toEqual([]))

async function startApplication(home = '/home', host = '127.0.0.1'): Promise<Application> {
  const callbacks: URL[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    if (url.pathname === '/callback') callbacks.push(url)
    // As many applications do, it goes on to a page without the code.
    if (url.pathname === '/callback') response.writeHead(303, { Location: home }).end()
    else response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>application</title>')
  })
  const port = await listen(server, host)
  const name = host === '::1' ? '[::1]' : host
  return {
    redirectUri: `http://${name}:${port}/callback`,
    callbacks,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** Whatever Chromium has to say about a page is a fault: policy violations, script errors, missing files, dialogs. */
function watch(watched: Page): void {
  watched.on('pageerror', (error) => problems.push(String(error)))
  watched.on('dialog', (dialog) => problems.push(`dialog ${dialog.message()}`))
  watched.on('requestfailed', (request) => {
    // The dev page looks for news by itself, and whoever leaves it meanwhile ends that request.
    const isLeft = request.resourceType() === 'fetch' && request.failure()?.errorText === 'net::ERR_ABORTED'
    if (!isLeft) problems.push(`${request.url()} ${request.failure()?.errorText}`)
  })
  watched.on('console', (message) => {
    // A page that answers 4xx is a page all the same.
    if (!/the server responded with a status of 4\d\d/.test(message.text())) problems.push(message.text())
  })
}

function authorizing(): ReturnType<typeof authorizeUrl> {
  return authorizeUrl(service, { redirectUri: application.redirectUri })
}

async function signIn(email = 'ada', password = personOf(service, email).password): Promise<void> {
  await page.getByLabel('Email address').fill(personOf(service, email).email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

const button = (name: string) => page.getByRole('button', { name })

test('clicks through sign-in and consent reach the callback of another origin, and its redirect', async () => {
  const { url, verifier, redirectUri } = authorizing()
  await page.goto(url)
  await signIn()
  await button('Approve').click()
  await page.waitForURL(redirectUri.replace('/callback', '/home'))
  const [callback] = application.callbacks
  expect({ callbacksCount: application.callbacks.length, state: callback?.searchParams.get('state') }).toEqual({
    callbacksCount: 1,
    state: 'state-1',
  })
  const code = callback?.searchParams.get('code') ?? ''
  const client = clientOf(service, 'Demo public')
  expect((await exchange(service, { url: callback as URL, code, verifier, redirectUri, client })).status).toBe(200)
})

test('a click on approve is a 303, also to [::1] and to an application that goes on to another origin', async () => {
  const onward = application.redirectUri.replace('/callback', '/home')
  const applications = [await startApplication(onward), await startApplication('/home', '::1')]
  for (const { redirectUri, callbacks } of applications) {
    const answers: { status: number; path: string }[] = []
    page.on('response', (answer) => answers.push({ status: answer.status(), path: new URL(answer.url()).pathname }))
    await page.goto(authorizeUrl(service, { redirectUri }).url)
    if ((await page.title()).startsWith('Sign in')) await signIn()
    await button('Approve').click()
    await page.waitForURL('**/home')
    expect(callbacks.map(({ searchParams }) => [...searchParams.keys()])).toEqual([['code', 'state']])
    expect(answers).toContainEqual({ status: 303, path: '/auth/v1/consent' })
  }
  for (const one of applications) await one.close()
})

test('what the sign-in form is refused for arrives as well', async () => {
  await page.goto(authorizeUrl(service, { redirectUri: application.redirectUri, parameters: { scope: 'x' } }).url)
  await signIn()
  await page.waitForURL('**/home')
  expect(application.callbacks.map(({ search }) => search)).toEqual(['?error=invalid_scope&state=state-1'])
})

test('a page of another loopback port, which authorize accepts, exchanges its code itself', async () => {
  const elsewhere = await startApplication()
  const { url, verifier, redirectUri } = authorizeUrl(service, { redirectUri: elsewhere.redirectUri })
  await page.goto(url)
  await signIn()
  await button('Approve').click()
  await page.waitForURL('**/home')
  const code = elsewhere.callbacks[0]?.searchParams.get('code') ?? ''
  const { clientId } = clientOf(service, 'Demo public')
  const fields = { code, redirect_uri: redirectUri, client_id: clientId, code_verifier: verifier }
  const answer = await page.evaluate(
    async ([endpoint, form]) => {
      const init = { method: 'POST', body: new URLSearchParams(form) }
      return (await (await fetch(endpoint, init)).json()) as Record<string, unknown>
    },
    [`${service.authUrl}/auth/v1/token?grant_type=authorization_code`, fields] as const,
  )
  expect(answer).toMatchObject({ token_type: 'Bearer', scope: 'api.access' })
  await elsewhere.close()
})

test('a click on deny comes back as access_denied', async () => {
  await page.goto(authorizing().url)
  await signIn()
  await button('Deny').click()
  await page.waitForURL('**/home')
  expect(application.callbacks.map(({ search }) => search)).toEqual(['?error=access_denied&state=state-1'])
})

test('the whole login works with the keyboard alone and with script turned off', async () => {
  const scriptless = await browser.newContext({ javaScriptEnabled: false })
  page = await scriptless.newPage()
  watch(page)
  await page.goto(authorizing().url)
  const { email, password } = personOf(service, 'ada')
  await page.locator('input[name=email]:focus').waitFor()
  await page.keyboard.type(email)
  await page.keyboard.press('Tab')
  await page.keyboard.type(password)
  await page.keyboard.press('Enter')
  await expect.poll(() => button('Approve').evaluate((one) => getComputedStyle(one).pointerEvents)).toBe('auto')
  await page.keyboard.press('Tab')
  expect(await page.locator(':focus').textContent()).toBe('Approve')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home')
  expect(application.callbacks[0]?.searchParams.has('code')).toBe(true)
  await scriptless.close()
})

test('the approve button takes no click and no focus in its first half second', async () => {
  const devtools = await context.newCDPSession(page)
  await page.goto(authorizing().url)
  // Time stands still for animations: the page stays in its first moment.
  await devtools.send('Animation.enable')
  await devtools.send('Animation.setPlaybackRate', { playbackRate: 0 })
  await signIn()
  const approve = await button('Approve').boundingBox()
  await page.mouse.click((approve?.x ?? 0) + 20, (approve?.y ?? 0) + 20)
  await page.keyboard.press('Tab')
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Deny')
  expect(application.callbacks).toEqual([])
  expect(await page.title()).toContain('Allow access?')
  await devtools.send('Animation.setPlaybackRate', { playbackRate: 1 })
  await button('Approve').click()
  await page.waitForURL('**/home')
})

test('no page breaks its own policy, and another site cannot frame it', async () => {
  const seen = await everyPage()
  expect(seen).toEqual([
    'Sign in',
    'Sign in',
    'Allow access?',
    'API clients',
    'Register a client',
    'Your client secret',
    'Framed',
    'Dev controls',
    'Request failed',
  ])
  await page.goto(application.redirectUri.replace('callback', 'home'))
  await page.setContent(`<iframe src="${authorizing().url}"></iframe>`)
  const frame = page.frames()[1]
  await frame?.waitForLoadState().catch(() => undefined)
  expect(frame?.url()).not.toContain('/authorize')
  const refusals = problems.splice(0)
  expect(refusals.filter((problem) => !/frame|ERR_BLOCKED_BY_RESPONSE/.test(problem))).toEqual([])
  expect(refusals.length).toBeGreaterThan(0)
})

/** Visits them all, measures each, and returns their titles. */
async function everyPage(): Promise<string[]> {
  const seen: string[] = []
  const look = async () => {
    await page.waitForLoadState()
    seen.push((await page.title()).replace(' · Agent Management Service', ''))
    expect(await violationsOf(page), seen.at(-1) ?? '').toEqual([])
  }
  const { password } = personOf(service, 'ada')
  await page.goto(authorizing().url)
  await look()
  await signIn('ada', 'not the password')
  await page.getByRole('alert').waitFor()
  await look()
  await signIn()
  await button('Approve').waitFor()
  await look()
  await page.goto(`${service.authUrl}/auth/v1/clients`)
  await look()
  await page.getByRole('link', { name: 'Register a client' }).click()
  await look()
  await page.getByLabel('Name').fill('Framed')
  await page.getByLabel('Confidential').check()
  await page.getByLabel('Redirect URIs').fill('https://framed.example/callback')
  await page.getByLabel('Your password').fill(password)
  await button('Register').click()
  await look()
  await page.getByRole('link', { name: 'Go to the client' }).click()
  await look()
  for (const address of [`${service.authUrl}/_dev`, `${service.authUrl}/nothing`]) {
    await page.goto(address)
    await look()
  }
  return seen
}

/** Unlabelled fields, low contrast, small targets, sideways scrolling: in light and dark, narrow and wide. */
async function violationsOf(watched: Page): Promise<string[]> {
  const found: string[] = []
  for (const colorScheme of ['light', 'dark'] as const) {
    for (const width of [320, 1_200]) {
      await watched.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await watched.setViewportSize({ width, height: 800 })
      await watched.evaluate(() => Promise.all(document.getAnimations().map((animation) => animation.finished)))
      found.push(...(await watched.evaluate(audit)).map((text) => `${colorScheme} ${width}: ${text}`))
    }
  }
  return found
}

/** Runs in the page. */
function audit(): string[] {
  const numbers = (color: string): number[] => (color.match(/[\d.]+/g) ?? []).map(Number)
  const luminance = (color: string): number => {
    const [red = 0, green = 0, blue = 0] = numbers(color)
      .slice(0, 3)
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const groundOf = (element: Element | null): string => {
    if (element === null) return 'rgb(255, 255, 255)'
    const { backgroundColor } = getComputedStyle(element)
    return numbers(backgroundColor)[3] === 0 ? groundOf(element.parentElement) : backgroundColor
  }
  const contrast = (element: Element): number => {
    const both = [luminance(getComputedStyle(element).color), luminance(groundOf(element))].sort((a, b) => b - a)
    return ((both[0] ?? 0) + 0.05) / ((both[1] ?? 0) + 0.05)
  }
  const hasOwnText = (element: Element): boolean =>
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim() !== '')
  const name = (element: Element): string => `${element.tagName} ${(element.textContent ?? '').trim().slice(0, 30)}`
  const visible = [...document.body.querySelectorAll('*')].filter((element) => element.checkVisibility())
  const texts = visible.filter((element) => !/SCRIPT|OPTION/.test(element.tagName) && hasOwnText(element))
  const fields = [...document.querySelectorAll<HTMLInputElement>('input, select, textarea')].filter((field) =>
    field.checkVisibility(),
  )
  const targets = [...document.querySelectorAll('button, .button, input[type=text], select')]
  return [
    ...texts
      .filter((text) => contrast(text) < 4.5)
      .map((text) => `contrast ${contrast(text).toFixed(2)} of ${name(text)}`),
    ...fields.filter(({ labels }) => (labels?.length ?? 0) === 0).map((field) => `no label: ${field.id}`),
    ...targets.filter((one) => one.getBoundingClientRect().height < 24).map((one) => `small: ${name(one)}`),
    ...(document.documentElement.scrollWidth > innerWidth ? ['it scrolls sideways'] : []),
    ...(document.querySelectorAll('h1').length === 1 ? [] : ['not one h1']),
    ...(document.documentElement.lang === 'en' ? [] : ['no language']),
    ...([...document.querySelectorAll('[id]')].length ===
    new Set([...document.querySelectorAll('[id]')].map(({ id }) => id)).size
      ? []
      : ['an id twice']),
  ]
}

test('markup in names is text, on the consent page and in the list of clients', async () => {
  const name = `<img src=x onerror=alert(1)><b>bold</b>&amp;"'</strong><script>alert(2)</script>`
  await page.goto(`${service.authUrl}/auth/v1/clients`)
  await signIn()
  await page.getByRole('link', { name: 'Register a client' }).click()
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Redirect URIs').fill(application.redirectUri)
  await page.getByLabel('Your password').fill(personOf(service, 'ada').password)
  await button('Register').click()
  const clientId = (await page.locator('#client-id').textContent()) ?? ''
  expect(await page.getByText(name, { exact: true }).count()).toBe(1)
  await page.getByRole('link', { name: 'Go to the client' }).click()
  expect(await page.locator('h1').textContent()).toBe(name)
  await page.getByRole('link', { name: 'Back to the clients' }).click()
  expect(await page.getByRole('link', { name, exact: true }).count()).toBe(1)
  const client = { ...clientOf(service, 'Demo public'), clientId }
  await page.goto(authorizeUrl(service, { client, redirectUri: application.redirectUri }).url)
  expect(await page.locator('strong').textContent()).toBe(name)
  expect(await page.locator('main img, main b, main script').count()).toBe(0)
})

test('with the keyboard alone, the dev page opens a login and makes its next sign-in fail', async () => {
  await page.goto(authorizing().url)
  await signIn()
  await button('Approve').waitFor()
  await page.goto(`${service.authUrl}/_dev`)
  await page.getByRole('link', { name: /^Login \d+/ }).press('Enter')
  await page.getByRole('heading', { level: 1, name: /^Login \d+$/ }).waitFor()
  expect(await violationsOf(page)).toEqual([])
  expect(await page.getByRole('row').allTextContents()).toEqual([
    expect.stringContaining('Request'),
    expect.stringMatching(/^Authorize/),
    expect.stringMatching(/^Sign in/),
  ])
  await page.getByRole('button', { name: 'Reset at the next /auth/v1/sign-in' }).press('Enter')
  await page.getByRole('status').getByText('The fault was added.').waitFor()
  const rule = { match: { path: '/auth/v1/sign-in' }, effect: 'reset', times: 1 }
  expect(service.dev.faults()).toEqual([rule])
  await page.getByRole('link', { name: 'All dev controls' }).press('Enter')
  await page.locator('summary', { hasText: 'Requests' }).press('Enter')
  await page.getByRole('combobox', { name: 'Person' }).last().selectOption('ada@demo.example')
  await page.getByRole('button', { name: 'Filter' }).press('Enter')
  await page.waitForURL(/person=ada/)
  expect(await page.locator('#requests').textContent()).toContain('sign_in_succeeded')
})

test('in the dark, the sign-in page is light text on a dark ground', async () => {
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.goto(authorizing().url)
  const lightness = (property: 'color' | 'backgroundColor') =>
    page.evaluate((name) => {
      const channels = getComputedStyle(document.body)[name].match(/\d+/g) ?? []
      return channels.reduce((sum, channel) => sum + Number(channel), 0) / 3
    }, property)
  expect(await lightness('backgroundColor')).toBeLessThan(40)
  expect(await lightness('color')).toBeGreaterThan(200)
})

test('the dev page shows the logins first and folds the rest, so that it fits on a screen and a half', async () => {
  await page.setViewportSize({ width: 1_200, height: 800 })
  await page.goto(`${service.authUrl}/_dev`)
  expect(await page.getByRole('heading', { level: 2 }).first().textContent()).toBe('Logins')
  expect(await page.locator('summary').allTextContents()).toEqual(['Controls', 'Requests', 'People', 'Clients'])
  expect(await button('Freeze').isVisible()).toBe(false)
  expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThan(1_200)
})

test('the dev page shows new requests by itself, keeps what is typed, and says when the service is gone', async () => {
  await page.clock.install()
  await page.goto(`${service.authUrl}/_dev`)
  // An element of this name must not count as a page that is hidden.
  await page.evaluate(() => document.body.insertAdjacentHTML('beforeend', '<img name="hidden" alt="">'))
  await page.getByText('Controls', { exact: true }).click()
  await page.locator('summary', { hasText: 'Requests' }).press('Enter')
  await page.getByLabel('Minutes').fill('77')
  await fetch(`${service.authUrl}/auth/v1/authorize?client_id=nobody`)
  await page.clock.runFor(2_000)
  await page.getByText('auth GET /auth/v1/authorize').waitFor()
  expect(await page.getByLabel('Minutes').inputValue()).toBe('77')
  await context.route('**/_dev', (route) => route.abort())
  await page.clock.runFor(2_000)
  await page.getByText('The service does not respond.').waitFor()
  expect(problems.splice(0).filter((problem) => !/ERR_FAILED/.test(problem))).toEqual([])
  await context.unroute('**/_dev')
  await page.clock.runFor(2_000)
  await page.getByText('Up to date').waitFor()
  await page.getByLabel('Minutes').fill('3')
  await button('Freeze').click()
  await page.getByText('The clock is stopped.').waitFor()
  await button('Advance').click()
  await page.getByText(', frozen').waitFor()
  expect(service.dev.clockState()).toBe('frozen')
  await button('Let it run').click()
  await page.getByText('The clock runs again.').waitFor()
  await page.locator('#minted').selectOption('ada@demo.example')
  await button('Mint session token').click()
  await page.getByText(/^Session token: ast_/).waitFor()
})
