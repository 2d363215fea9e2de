import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { launchChromium } from '../chromium.ts'

// Tests that fail while a page is open, and one that passes, for test/browser/failures.test.ts.

let browser: Browser
let contexts: BrowserContext[] = []
beforeAll(async () => {
  browser = await launchChromium()
})
afterEach(({ task }) => {
  if (task.name === 'a hook fails') throw new Error('before the contexts are closed')
})
afterEach(async () => {
  for (const context of contexts.splice(0)) await context.close()
})
afterAll(() => browser.close())

async function showPage(text: string): Promise<BrowserContext> {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.setContent(`<h1>${text}</h1><script>console.info('said by ${text}')</script>`)
  return context
}

test('never closed', async () => {
  await showPage('none')
  expect(1).toBe(2)
})

test('closed by a hook', async () => {
  contexts = [await showPage('one'), await showPage('two')]
  expect(await contexts[0]?.pages()[0]?.title()).toBe('another title')
})

test('a hook fails', async () => {
  await showPage('three')
})

test('passes', async () => {
  contexts = [await showPage('passed')]
})
