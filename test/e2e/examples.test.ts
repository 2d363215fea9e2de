// @module-tag chromium

import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { launchChromium } from '../support/chromium.ts'
import { type RunningExample, runExample } from '../support/example.ts'

async function approve(page: Page, { email, password }: RunningExample): Promise<void> {
  await page.locator('input[name=email]').fill(email)
  await page.locator('input[name=password]').fill(password)
  await page.locator('input[name=password]').press('Enter')
  await page.locator('button[value=approve]').click()
}

/** A profile whose pages report every violation of the policy and every uncaught error. */
async function watchedContext(browser: Browser, problems: string[]): Promise<BrowserContext> {
  const context = await browser.newContext()
  context.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text())
  })
  context.on('weberror', (error) => problems.push(error.error().message))
  return context
}

// One of them in the browser that people use, which takes three times as long.
describe.each([
  ['spa', 'whole'],
  ['react', 'quickest'],
] as const)('npm run example:%s', (name, build) => {
  let browser: Browser
  let example: RunningExample
  let problems: string[] = []
  beforeAll(async () => {
    ;[browser, example] = await Promise.all([launchChromium({ build }), runExample(name)])
  })
  afterEach(() => {
    expect(problems).toEqual([])
    problems = []
  })
  afterAll(async () => {
    await browser?.close()
    await example?.stop()
  })

  test('signs in by redirect, comes back to where it was, survives a reload, signs out in two tabs', async () => {
    const context = await watchedContext(browser, problems)
    const page = await context.newPage()
    await page.goto(`${example.origin}/?view=all#list`)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await approve(page, example)
    await page.getByText('12 agents').waitFor()
    expect(page.url()).toBe(`${example.origin}/?view=all#list`)
    await page.getByText('Ada Admin', { exact: true }).waitFor()
    await page.reload()
    await page.getByText('12 agents').waitFor()
    const second = await context.newPage()
    await second.goto(example.origin)
    await second.getByText('12 agents').waitFor()
    await second.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out').waitFor()
    await context.close()
  })

  test('a tab that slept while another user signed in shows nothing of the first one', async () => {
    const context = await watchedContext(browser, problems)
    const [slept, other] = [await context.newPage(), await context.newPage()]
    // It hears nothing of the sign-out in between.
    await slept.addInitScript(() => Object.defineProperty(BroadcastChannel.prototype, 'onmessage', { set() {} }))
    await slept.goto(example.origin)
    await slept.getByRole('button', { name: 'Sign in', exact: true }).click()
    await approve(slept, example)
    await slept.getByText('12 agents').waitFor()
    // The mark disappears only if the row itself is replaced.
    await slept
      .locator('tbody tr')
      .first()
      .evaluate((line) => line.setAttribute('data-of', 'ada'))
    await other.goto(example.origin)
    await other.getByRole('button', { name: 'Sign out' }).click()
    await context.clearCookies()
    await other.getByRole('button', { name: 'Sign in', exact: true }).click()
    const email = 'rui@demo.example'
    await approve(other, { ...example, email, password: example.passwordOf(email) })
    await other.getByRole('button', { name: 'Sign out' }).waitFor()
    await slept.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await slept.locator('[data-of=ada]').waitFor({ state: 'detached' })
    await slept.getByText('12 agents').waitFor()
    await context.close()
  })

  test('signs in in a window, searches and creates', async () => {
    const context = await watchedContext(browser, problems)
    const page = await context.newPage()
    await page.goto(example.origin)
    const [window] = await Promise.all([
      context.waitForEvent('page'),
      page.getByRole('button', { name: 'Sign in in a window' }).click(),
    ])
    await approve(window, example)
    await page.getByText('12 agents').waitFor()
    await page.getByLabel('Search').fill('invoice')
    await page.getByText('1 agent', { exact: true }).waitFor()
    await page.getByLabel('Search').fill('')
    await page.getByLabel('Name', { exact: true }).fill(`Night Porter ${name}`)
    await page.getByLabel('What it should do').fill('Answers at night.')
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText(`night_porter_${name}`).waitFor()
    await context.close()
  })

  test('a user who declines reads that and can try again', async () => {
    const context = await watchedContext(browser, problems)
    const page = await context.newPage()
    await page.goto(example.origin)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.locator('input[name=email]').fill(example.email)
    await page.locator('input[name=password]').fill(example.password)
    await page.locator('input[name=password]').press('Enter')
    await page.locator('button[value=deny]').click()
    await page.getByText('You declined to sign in').waitFor()
    expect(new URL(page.url()).search).toBe('')
    await page.getByRole('alert').getByRole('button', { name: 'Sign in' }).click()
    await page.locator('button[value=approve]').click()
    await page.getByText('agents').first().waitFor()
    await context.close()
  })
})
