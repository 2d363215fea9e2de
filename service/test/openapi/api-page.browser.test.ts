// @module-tag chromium
// @module-tag slow

import { expect, onTestFinished, test } from 'vitest'
import { launchChromium } from '../../../test/support/chromium.ts'
import { personOf } from '../support/login.ts'
import { startService } from '../support/start.ts'

test('on the API page a user signs in, sends a search and sees its response, and all of it keeps to the policy', async () => {
  const service = await startService({ dev: 'on' })
  onTestFinished(service.close)
  const browser = await launchChromium()
  onTestFinished(() => browser.close())
  const problems: string[] = []
  const hosts = new Set<string>()
  const context = await browser.newContext()
  context.on('request', (request) => hosts.add(new URL(request.url()).origin))
  context.on('console', (message) => problems.push(message.text()))
  context.on('weberror', (error) => problems.push(String(error.error())))
  const page = await context.newPage()
  await page.goto(`${service.baseUrl}/docs`)
  await page.getByRole('button', { name: 'Authorize', exact: true }).click()
  const dialog = page.locator('.auth-container', { hasText: 'OAuth2' })
  const opened = page.waitForEvent('popup')
  await dialog.getByRole('button', { name: 'Apply given OAuth2 credentials' }).click()
  const popup = await opened
  const { email, password } = personOf(service, 'ada')
  await popup.getByLabel('Email address').fill(email)
  await popup.getByLabel('Password').fill(password)
  await popup.getByRole('button', { name: 'Sign in' }).click()
  const closed = popup.waitForEvent('close')
  await popup.getByRole('button', { name: 'Approve' }).click()
  await closed
  // The token has arrived.
  await dialog.getByRole('button', { name: 'Remove authorization' }).waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.locator('#operations-Parent_agents-searchParentAgents').click()
  const answered = page.waitForResponse('**/api/parent_agents/search')
  await page.getByRole('button', { name: 'Execute' }).click()
  expect((await answered).status()).toBe(200)
  await page.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
  expect(await page.locator('.live-responses-table').textContent()).toContain('"count": 12')
  expect(problems).toEqual([])
  expect([...hosts].sort()).toEqual([service.authUrl, service.baseUrl].sort())
})
