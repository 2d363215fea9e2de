// @module-tag chromium

import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { buildScript } from './built-app.ts'
import { browserRig } from './rig.ts'

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
    await context.route('**/app.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
    const page = await context.newPage()
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text())
    })
    await page.goto(rig.origin + path)
    return { context, page }
  }

  const agents = (page: Page): Promise<void> => page.getByText(/^\d+ agents, sign out$/).waitFor()

  it('a protected route signs in and comes back to its path, query and hash [C-109]', async () => {
    const { page } = await openPage('/agents?page=2#list')
    await agents(page)
    expect(page.url()).toBe(`${rig.origin}/agents?page=2#list`)
    expect(rig.tokenRequests('authorization_code')).toBe(1)
    await page.reload()
    await agents(page)
    expect(rig.tokenRequests('authorization_code')).toBe(1)
  })

  it('a public route needs no login, and a link from it to a protected one does [C-109]', async () => {
    const { page } = await openPage('/')
    await page.getByRole('link', { name: 'Agents' }).click()
    await agents(page)
    expect(page.url()).toBe(`${rig.origin}/agents?page=2#list`)
    await page.goBack()
    expect(rig.tokenRequests('authorization_code')).toBe(1)
  })

  it('a declined login is told at the callback route, and the next one comes back to the page asked for [F009]', async () => {
    rig.service.dev.autoApprove(undefined)
    const { page } = await openPage('/agents?page=2')
    const ada = rig.service.people.find(({ email }) => email.startsWith('ada@'))
    await page.fill('[name=email]', ada?.email ?? '')
    await page.fill('[name=password]', ada?.password ?? '')
    await page.keyboard.press('Enter')
    await page.click('[name=decision][value=deny]')
    await page.getByText('The login did not succeed.').waitFor()
    expect(page.url()).toBe(`${rig.origin}/callback`)
    rig.service.dev.autoApprove('ada@demo.example')
    await page.locator('#root').getByRole('button', { name: 'Sign in' }).click()
    await agents(page)
    expect(page.url()).toBe(`${rig.origin}/agents?page=2`)
  })

  it('after a sign-out the protected route waits for a click', async () => {
    const { page } = await openPage('/agents?page=2')
    await agents(page)
    await page
      .locator('#root')
      .getByRole('button', { name: /sign out/ })
      .click()
    await page.getByText('You are signed out.').waitFor()
    await page.locator('#root').getByRole('button', { name: 'Sign in' }).click()
    await agents(page)
    expect(page.url()).toBe(`${rig.origin}/agents?page=2`)
  })

  it('a reloaded callback of a signed-in user shows a way on [C-021]', async () => {
    const { page } = await openPage('/agents?page=2')
    await agents(page)
    await page.goto(`${rig.origin}/callback`)
    await page.getByRole('link', { name: 'Continue' }).click()
    await page.getByRole('link', { name: 'Agents' }).waitFor()
  })
})
