// @vitest-environment jsdom
import { afterAll, expect, test, vi } from 'vitest'
import { countModels } from './models'

const { auth, service } = await vi.hoisted(async () => {
  const { createBrowserAuth } = await import('agent-auth/browser')
  const { testService } = await import('agent-auth/testing')
  const service = await testService()
  const auth = createBrowserAuth({ ...service.options, redirectUri: `${location.origin}/callback` })
  return { auth, service }
})
vi.mock('./auth', () => ({ auth }))
afterAll(() => service.close())

test('the models of the tenant are counted', async () => {
  await auth.session.signIn(await service.login())
  expect(await countModels()).toMatch(/^\d+ models$/)
})
