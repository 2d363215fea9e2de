import type { Page } from 'playwright-core'
import { launchChromium as launch } from '../support/chromium.ts'
import { type Engine, fromJson, overJson, type Tab } from './engine.ts'

/** The Chromium of the other browser tests, so that what differs between engines is not in how they are driven. */
export async function launchChromium(): Promise<Engine> {
  const browser = await launch({ build: 'whole' })
  return {
    name: `Chromium ${browser.version()}`,
    async newProfile() {
      const context = await browser.newContext()
      return {
        newTab: async () => tabOf(await context.newPage()),
        tabs: async () => context.pages().map(tabOf),
        close: () => context.close(),
      }
    },
    close: () => browser.close(),
  }
}

function tabOf(page: Page): Tab {
  return {
    async goto(url) {
      await page.goto(url)
    },
    async reload() {
      await page.reload()
    },
    async back() {
      await page.goBack()
    },
    evaluate: async (run, ...args) =>
      fromJson(await page.evaluate(`(${overJson(run)})(${JSON.stringify(JSON.stringify(args))})`)),
    click: (selector) => page.click(selector),
    fill: (selector, text) => page.fill(selector, text),
    close: () => page.close(),
  }
}
