// @module-tag chromium

import { userText } from 'agent-auth/texts'
import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { buildScript } from '../../browser/built-app.ts'
import { browserRig, fillForms } from '../../browser/rig.ts'

// The apps that docs/react.md shows, word for word.

const rig = browserRig()

describe.each(['react-router', 'browser-router', 'tanstack-router'])('docs/snippets/routers/%s.tsx', (name) => {
  let script = ''
  let problems: string[] = []
  beforeAll(async () => {
    script = await buildScript(`../../docs/snippets/routers/${name}.tsx`)
  })
  afterEach(() => {
    expect(problems).toEqual([])
    problems = []
  })

  async function openPage(path: string): Promise<{ context: BrowserContext; page: Page }> {
    const context = await rig.context()
    const { authUrl, baseUrl, clients } = rig.service
    const env = {
      VITE_AGENT_AUTH_URL: authUrl,
      VITE_AGENT_BASE_URL: baseUrl,
      VITE_AGENT_PUBLIC_CLIENT_ID: clients.find(({ kind }) => kind === 'public')?.clientId,
    }
    const body = `import.meta.env = ${JSON.stringify(env)};${script}`
    await context.route('**/app.js', (route) => route.fulfill({ contentType: 'text/javascript', body }))
    return { context, page: await openTab(context, path) }
  }

  async function openTab(context: BrowserContext, path: string): Promise<Page> {
    const page = await context.newPage()
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) problems.push(message.text())
    })
    await page.goto(rig.origin + path)
    return page
  }

  const agents = (page: Page): Promise<void> => page.getByRole('listitem').first().waitFor()
  const press = (page: Page, name: string): Promise<void> =>
    page.locator('#root').getByRole('button', { name, exact: true }).click()

  it('a protected route signs in and comes back to its path, query and hash', async () => {
    const { page } = await openPage('/agents?page=2#list')
    await agents(page)
    expect(page.url()).toBe(`${rig.origin}/agents?page=2#list`)
    expect(rig.tokenRequests('authorization_code')).toBe(1)
    await page.reload()
    await agents(page)
    expect(rig.tokenRequests('authorization_code')).toBe(1)
  })

  it('a public route needs no login, and a link from it to a protected one does', async () => {
    const { page } = await openPage('/')
    await page.getByRole('link', { name: 'Agents' }).click()
    await agents(page)
    expect(page.url()).toBe(`${rig.origin}/agents?page=2#list`)
    await page.goBack()
    expect(rig.tokenRequests('authorization_code')).toBe(1)
  })

  it('after a sign-out the protected route waits for a click', async () => {
    const { page } = await openPage('/agents?page=2')
    await agents(page)
    await press(page, 'Sign out')
    await page.getByText('You are signed out.').waitFor()
    await press(page, 'Sign in')
    await agents(page)
    expect(page.url()).toBe(`${rig.origin}/agents?page=2`)
  })

  // What follows does not depend on the router.
  if (name !== 'react-router') return

  it('a declined login is told at the callback route, and the next one comes back to the page asked for', async () => {
    rig.service.dev.autoApprove(undefined)
    const { page } = await openPage('/agents?page=2')
    await fillForms(page, rig.service, 'deny')
    await page.getByText(userText('login_denied').text).waitFor()
    expect(page.url()).toBe(`${rig.origin}/callback`)
    rig.service.dev.autoApprove('ada@demo.example')
    await press(page, 'Sign in')
    await agents(page)
    expect(page.url()).toBe(`${rig.origin}/agents?page=2`)
  })

  it('a tab in which another user signs in from another tab lists the agents again', async () => {
    const { context, page } = await openPage('/')
    let lists = 0
    await context.route('**/api/parent_agents/search', async (route) => {
      const response = await route.fetch()
      const json = (await response.json()) as { data: { items: { agent_name: string }[] } }
      lists += 1
      for (const item of json.data.items) item.agent_name = `List ${lists}`
      await route.fulfill({ response, json })
    })
    await page.getByRole('link', { name: 'Agents' }).click()
    await agents(page)
    const other = await openTab(context, '/agents')
    await agents(other)
    const listsOfAda = lists
    await press(other, 'Sign out')
    await page.getByText('You are signed out.').waitFor()
    rig.service.dev.autoApprove('rui@demo.example')
    await press(other, 'Sign in')
    await agents(other)
    await expect
      .poll(async () => Number((await page.getByRole('listitem').first().textContent())?.slice(5)))
      .toBeGreaterThan(listsOfAda)
  })

  it('a reloaded callback of a signed-in user shows a way on', async () => {
    const { page } = await openPage('/agents?page=2')
    await agents(page)
    await page.goto(`${rig.origin}/callback`)
    await page.getByRole('link', { name: 'Continue' }).click()
    await page.getByRole('link', { name: 'Agents' }).waitFor()
  })

  it('a list that cannot be read shows why, and can be tried again', async () => {
    const { page } = await openPage('/agents')
    await agents(page)
    const path = '/api/parent_agents/search'
    rig.service.dev.addFault({ match: { path, method: 'POST' }, effect: { status: 500 }, times: 1 })
    await page.reload()
    await page.getByRole('alert').waitFor()
    await press(page, 'Try again')
    await agents(page)
    // The browser and the router report the failure.
    expect(problems.splice(0).join('\n')).toContain('500')
  })
})
