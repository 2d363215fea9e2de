// @module-tag chromium

import { createAuthConfig } from 'agent-auth'
import { signInWithLoopback } from 'agent-auth/node'
import { type Service, startService } from 'agent-service'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { sharedChromium } from '../support/chromium.ts'

let service: Service
let browser: Browser
beforeAll(async () => {
  service = await startService({ dev: 'on', redirectUris: ['http://127.0.0.1/callback'] })
  browser = await sharedChromium()
})
afterAll(async () => {
  await service?.close()
})

it('a user signs in to a command-line tool with Chromium, whose history then holds no code', async () => {
  const { authUrl, baseUrl, clients, people } = service
  const clientId = clients.find(({ name }) => name === 'Demo public')?.clientId ?? ''
  const ada = people.find(({ email }) => email.startsWith('ada@'))
  const page = await browser.newPage()
  onTestFinished(() => page.close())
  const seen: string[] = []
  page.on('request', (request) => seen.push(request.url()))
  const config = createAuthConfig({ authUrl, baseUrl, clientId, redirectUri: 'http://127.0.0.1/callback' })
  const tokens = await signInWithLoopback(config, {
    async openBrowser(url) {
      await page.goto(url)
      await page.fill('[name=email]', ada?.email ?? '')
      await page.fill('[name=password]', ada?.password ?? '')
      await page.keyboard.press('Enter')
      await page.click('[name=decision][value=approve]')
    },
  })
  expect(tokens.accessToken).toBeTruthy()
  await page.waitForURL(/\/callback\/done$/)
  expect(await page.textContent('p')).toBe('You can close this page and return to the terminal.')
  // A browser shows no style that the policy of the page does not allow.
  expect(await page.evaluate(() => getComputedStyle(document.body).display)).toBe('grid')
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe('rgb(13, 17, 23)')
  expect(seen.filter((url) => /\/callback\?(.*&)?code=/.test(url))).toHaveLength(1)
  const cdp = await page.context().newCDPSession(page)
  const { entries } = await cdp.send('Page.getNavigationHistory')
  expect(entries.length).toBeGreaterThan(1)
  expect(entries.filter(({ url }) => url.includes('code='))).toEqual([])
})
