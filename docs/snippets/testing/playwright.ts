import { signedIn, type TestService } from 'agent-auth/testing'
import type { Page } from 'playwright-core' // or '@playwright/test'

/** Opens the app signed in, and creates an agent. */
export async function createAgent(page: Page, service: TestService, url: string): Promise<void> {
  await signedIn(page, { service, url })
  await page.getByLabel('Name', { exact: true }).fill('Night Porter')
  await page.getByLabel('What it should do').fill('Answers at night.')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('night_porter').waitFor()
}
