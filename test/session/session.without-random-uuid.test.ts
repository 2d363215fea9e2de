import { afterEach, expect, test, vi } from 'vitest'
import { sessionRig } from '../support/session-rig.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

test('a sign-in works where there is no crypto.randomUUID, as on React Native and on pages without https', async () => {
  const { getRandomValues } = crypto
  vi.stubGlobal('crypto', { getRandomValues: getRandomValues.bind(crypto) })
  const { service, realm } = sessionRig()
  const [here, there] = [realm(), realm()]
  const tokens = service.issue()
  await here.session.signIn(tokens)
  await there.session.signIn(service.issue())
  expect(await here.session.getAccessToken()).toBe(tokens.accessToken)
  expect(here.session.state.sessionRef).toMatch(/^[\w-]{22,}$/)
  expect(here.session.state.sessionRef).not.toBe(there.session.state.sessionRef)
})
