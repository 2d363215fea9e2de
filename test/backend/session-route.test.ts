import { afterEach, beforeEach, expect, test } from 'vitest'
import { type BackendRig, backendRig, guard } from '../support/backend-rig.ts'

let rig: BackendRig
beforeEach(async () => {
  rig = await backendRig()
})
afterEach(() => rig.close())

test('a page learns who is signed in, until when and in which sign-in, and gets no token', async () => {
  const browser = rig.browser()
  await browser.logIn()
  const read = async (): Promise<Record<string, unknown>> => (await browser.send('/auth/session')).json()
  const before = await read()
  expect(Object.keys(before).sort()).toEqual(['claims', 'endsAtMs', 'expiresAtMs', 'sessionRef', 'status'])
  const session = await rig.backend.getSession(browser.request('/'))
  if (session.status === 'signed-out') throw new Error('The session is missing.')
  expect(before.claims).toEqual(session.claims)
  expect(before.claims).toMatchObject({ subject: expect.any(String), tenant: expect.any(String) })
  expect(JSON.stringify(before)).not.toContain(await session.getAccessToken())
  await browser.call()
  expect(await read()).toEqual(before)
  await browser.logIn()
  expect((await read()).sessionRef).not.toBe(before.sessionRef)
})

test('a page without a session learns no more than that', async () => {
  const browser = rig.browser()
  await browser.logIn()
  await browser.send('/auth/logout', { method: 'POST', headers: guard })
  expect(await (await browser.send('/auth/session')).json()).toEqual({ status: 'signed-out' })
})
