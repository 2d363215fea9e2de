// @module-tag chromium

import { createServer } from 'node:http'
import type { Browser, BrowserContext, Cookie, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchChromium } from '../support/chromium.ts'
import { type RunningExample, runExample } from '../support/example.ts'
import { listen } from '../support/listen.ts'
import { createDatabase, type FreshDatabase } from '../support/postgres-server.ts'
import { serverUrl } from '../support/servers-client.ts'

let browser: Browser
beforeAll(async () => {
  browser = await launchChromium()
})
afterAll(() => browser?.close())

/** From the app's page through the service's pages back to the app. */
async function signIn(page: Page, { origin, email, password }: RunningExample, path = '/'): Promise<void> {
  await page.goto(origin + path)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.locator('input[name=email]').fill(email)
  await page.locator('input[name=password]').fill(password)
  await page.locator('input[name=password]').press('Enter')
  await page.locator('button[value=approve]').click()
  await page.getByText(/^1[23] agents$/).waitFor()
}

/** Without those of the service, which is on the same host. */
async function appCookies(context: BrowserContext): Promise<Cookie[]> {
  return (await context.cookies()).filter(({ name }) => name.startsWith('agent-auth'))
}

/** Every address that Back and Forward lead to. */
async function historyOf(page: Page): Promise<string[]> {
  const protocol = await page.context().newCDPSession(page)
  const { entries } = await protocol.send('Page.getNavigationHistory')
  return entries.map(({ url }) => url)
}

/** What the server's page says of itself, before any script has run. */
function statusesServed(page: Page, origin: string): Promise<string>[] {
  const served: Promise<string>[] = []
  page.on('response', (response) => {
    const { origin: from, pathname } = new URL(response.url())
    if (from === origin && pathname === '/')
      served.push(response.text().then((html) => /data-status="([\w-]*)"/.exec(html)?.[1] ?? 'none'))
  })
  return served
}

describe('npm run example:backend', () => {
  let example: RunningExample
  let context: BrowserContext
  const problems: string[] = []
  beforeAll(async () => {
    example = await runExample('backend', [], { REDIS_URL: '', DATABASE_URL: '' })
    context = await browser.newContext()
    context.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text())
    })
    context.on('weberror', (error) => problems.push(error.error().message))
  })
  afterAll(async () => {
    expect(await example?.stop()).toBe(0)
  })

  test('signs in; the first page that lands has the Strict cookie, and no address keeps the code', async () => {
    const page = await context.newPage()
    const served = statusesServed(page, example.origin)
    await signIn(page, example, '/?view=all')
    expect(page.url()).toBe(`${example.origin}/?view=all`)
    expect(await Promise.all(served)).toEqual(['signed-out', 'signed-in'])
    const own = (await historyOf(page)).filter((url) => url.startsWith(example.origin))
    expect(own).toEqual([`${example.origin}/?view=all`, `${example.origin}/?view=all`])
    const [cookie, ...more] = await appCookies(context)
    expect({ cookie, more }).toMatchObject({ cookie: { httpOnly: true, sameSite: 'Strict', path: '/' }, more: [] })
    expect(await page.evaluate(() => document.cookie)).toBe('')
    await page.reload()
    await page.getByText('Ada Admin, demo').waitFor()
    await page.getByText('12 agents').waitFor()
    expect(problems).toEqual([])
  })

  test('offers only accounts of the tenant of the client, because it would refuse others', () => {
    expect(example.passwordOf('rui@demo.example')).not.toBe('')
    expect(example.passwordOf('ola@other.example')).toBe('')
  })

  test('lists, searches and creates through the backend', async () => {
    const page = await context.newPage()
    await page.goto(example.origin)
    await page.getByLabel('Search').fill('invoice')
    await page.getByText('1 agent', { exact: true }).waitFor()
    await page.getByLabel('Search').fill('')
    await page.getByLabel('Name', { exact: true }).fill('Night Porter')
    await page.getByLabel('What it should do').fill('Answers at night.')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText('night_porter').waitFor()
    expect(problems).toEqual([])
  })

  test('shows a failure that the API sends with status 200, and then the agents again', async () => {
    const page = await context.newPage()
    await page.goto(example.origin)
    await page.getByText('13 agents').waitFor()
    const failure = { success: false, data: null, error_type: 'search_failed', error_message: 'The index is rebuilt.' }
    await page.route('**/api/parent_agents/search', (route) => route.fulfill({ json: failure }), { times: 1 })
    await page.getByLabel('Search').fill('invoice')
    await page.getByText('The request failed', { exact: true }).waitFor()
    await page.getByText('The index is rebuilt.').waitFor()
    await page.getByLabel('Search').fill('')
    await page.getByText('13 agents').waitFor()
    expect(await page.getByText('The request failed', { exact: true }).isVisible()).toBe(false)
    await page.close()
  })

  test.each([
    ['another site', 'localhost'],
    ['another port of this host, where the cookie goes along', '127.0.0.1'],
  ])('a form post from %s is refused', async (_, host) => {
    const target = `${example.origin}/api/parent_agents`
    const attacker = createServer((request, response) => {
      const action = request.url === '/logout' ? `${example.origin}/auth/logout` : target
      response.setHeader('content-type', 'text/html')
      const name = '{"agent_name":"Planted","description":"x","parent_agent_type_key":"assistant","active":true,"x":"'
      response.end(`<form method="post" enctype="text/plain" action="${action}">
        <input name='${name}' value='"}'><button>Go</button></form>`)
    })
    const from = `http://${host}:${await listen(attacker, host)}`
    const page = await context.newPage()
    for (const path of ['/create', '/logout']) {
      await page.goto(from + path)
      const answer = page.waitForResponse((response) => response.request().method() === 'POST')
      await page.getByRole('button').click()
      const response = await answer
      const { cookie = '' } = await response.request().allHeaders()
      expect({ status: response.status(), hasCookie: cookie !== '' }).toEqual({
        status: 403,
        hasCookie: host === '127.0.0.1',
      })
      expect(await response.json()).toMatchObject({ code: 'origin_forbidden' })
    }
    await page.goto(example.origin)
    await page.getByText('13 agents').waitFor()
    await page.close()
    attacker.closeAllConnections()
    attacker.close()
    problems.length = 0
  })

  test('a sign-out is seen in the other tab, and the page after it is signed out from the start', async () => {
    const [page, other] = [await context.newPage(), await context.newPage()]
    for (const tab of [page, other]) {
      await tab.goto(example.origin)
      await tab.getByText('13 agents').waitFor()
    }
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out').waitFor()
    await other.getByText('You are signed out').waitFor()
    expect(await other.getByText('night_porter').count()).toBe(0)
    const served = statusesServed(other, example.origin)
    await other.reload()
    expect(await Promise.all(served)).toEqual(['signed-out'])
    expect(await appCookies(context)).toEqual([])
    expect(problems).toEqual([])
    await Promise.all([page.close(), other.close()])
  })

  test('a session that ended elsewhere is noticed when the tab becomes visible', async () => {
    const elsewhere = await browser.newContext()
    const page = await elsewhere.newPage()
    await signIn(page, example)
    const answer = await page.evaluate(() =>
      fetch('/auth/logout', { method: 'POST', headers: { 'x-agent-auth': '1' } }).then(({ ok }) => ok),
    )
    expect(answer).toBe(true)
    // What the browser says then.
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })))
    await page.getByText('You are signed out').waitFor()
    await elsewhere.close()
  })

  test('says who is signed in and counts down, and a request notices that the session ended', async () => {
    const elsewhere = await browser.newContext()
    const page = await elsewhere.newPage()
    await signIn(page, example)
    await page.getByText(/, demo$/).waitFor()
    const countdown = page.getByText(/^in 29 d 23:5\d:\d\d$/)
    const first = await countdown.innerText()
    await expect.poll(() => page.locator('#ends').innerText()).not.toBe(first)
    await page.evaluate(() => fetch('/auth/logout', { method: 'POST', headers: { 'x-agent-auth': '1' } }))
    await page.getByLabel('Search').fill('invoice')
    await page.getByText('You are signed out').waitFor()
    await page.getByText('Please sign in again').waitFor()
    await elsewhere.close()
  })
})

for (const [processes, place, server, variable] of [
  [2, 'Redis', 'redis', 'REDIS_URL'],
  [2, 'PostgreSQL', 'postgres', 'DATABASE_URL'],
] as const)
  describe(`npm run example:backend -- --processes ${processes}, on ${place}`, { tags: [server] }, () => {
    let example: RunningExample
    let database: FreshDatabase | undefined
    beforeAll(async () => {
      const url = await serverUrl(server)
      if (server === 'postgres') database = await createDatabase(url)
      const unset = { REDIS_URL: '', DATABASE_URL: '' }
      example = await runExample('backend', ['--processes', String(processes)], {
        ...unset,
        [variable]: database?.url ?? url,
      })
    })
    afterAll(async () => {
      expect(await example?.stop()).toBe(0)
      await database?.drop()
    })

    /** Which processes answer, each request over a connection of its own, and what they say of this person. */
    async function ask(context: BrowserContext, times: number): Promise<Set<string>> {
      const [{ name, value } = { name: '', value: '' }] = await appCookies(context)
      const headers = { cookie: `${name}=${value}`, connection: 'close' }
      const answers = await Promise.all(
        Array.from({ length: times }, async () => {
          const response = await fetch(`${example.origin}/auth/session`, {
            headers: { ...headers, 'sec-fetch-site': 'none' },
            // A connection that Node's cluster handed to a process in the moment it was killed is never answered nor closed.
            signal: AbortSignal.timeout(5_000),
          })
          const { status } = (await response.json()) as { status: string }
          return `${response.headers.get('x-process')} ${status}`
        }),
      )
      return new Set(answers)
    }

    test('all processes know one session, and it outlives the one that began it', async () => {
      const context = await browser.newContext()
      const page = await context.newPage()
      await signIn(page, example)
      await page.getByText(place, { exact: true }).waitFor()
      const before = [...(await ask(context, 16))]
      expect(before.map((answer) => answer.replace(/^\d+ /, ''))).toEqual(Array(processes).fill('signed-in'))
      const killed = new Set(before.map((answer) => Number.parseInt(answer, 10)))
      for (const pid of killed) process.kill(pid, 'SIGKILL')
      // All of them are replaced; until then no process responds.
      await expect
        .poll(
          () =>
            ask(context, 16).then(
              ({ size }) => size,
              () => 0,
            ),
          // As many starts at once as there are processes take a while where other work is done beside them.
          { timeout: 45_000 },
        )
        .toBe(processes)
      const after = [...(await ask(context, 16))].map((answer) => ({
        isKilled: killed.has(Number.parseInt(answer, 10)),
        status: answer.replace(/^\d+ /, ''),
      }))
      expect(after).toEqual(Array(processes).fill({ isKilled: false, status: 'signed-in' }))
      await page.reload()
      await page.getByText('12 agents').waitFor()
      await context.close()
    })
  })
