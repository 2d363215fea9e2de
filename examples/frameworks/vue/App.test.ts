// @vitest-environment jsdom
import { mount } from '@vue/test-utils'
import { createBrowserAuth } from 'agent-auth/browser'
import { testService } from 'agent-auth/testing'
import { authPlugin } from 'agent-auth/vue'
import { afterAll, expect, test } from 'vitest'
import App from './App.vue'

const service = await testService({ after: afterAll })

test('a signed-in user can sign out', async () => {
  const auth = createBrowserAuth({ ...service.options, redirectUri: `${location.origin}/callback` })
  await auth.session.signIn(await service.login())
  const mocks = { $route: { meta: {} } }
  const app = mount(App, { global: { plugins: [authPlugin(auth)], mocks, stubs: ['RouterLink', 'RouterView'] } })
  await expect.poll(() => app.text()).toContain('Sign out')
  await app.get('button').trigger('click')
  await expect.poll(() => app.text()).toContain('Sign in')
  app.unmount()
  auth.close()
})
