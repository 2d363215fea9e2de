import { test as base, expect } from '@playwright/test'
import { signedIn, type TestService, testService } from 'agent-auth/testing'
import { createServer } from 'vite'

const test = base.extend<object, { app: { service: TestService; url: string } }>({
  app: [
    async ({}, use) => {
      const service = await testService({ transport: 'loopback' })
      const { authUrl, baseUrl, clientId } = service.config
      Object.assign(process.env, {
        VITE_AGENT_AUTH_URL: authUrl,
        VITE_AGENT_BASE_URL: baseUrl,
        VITE_AGENT_PUBLIC_CLIENT_ID: clientId,
      })
      const vite = await createServer({ server: { host: '127.0.0.1' } })
      await vite.listen()
      await use({ service, url: vite.resolvedUrls?.local[0] ?? '' })
      await vite.close()
      await service.close()
    },
    { scope: 'worker' },
  ],
})

test('a signed-in user sees the models', async ({ page, app: { service, url } }) => {
  await signedIn(page, { service, url: `${url}models` })
  await expect(page.getByText(/^\d+ models$/)).toBeVisible()
})
