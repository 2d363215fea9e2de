// What the app's own code gets of a login and of its requests.
import type { NewSession } from 'agent-auth/backend'
import { expect, test } from 'vitest'
import { rigOf } from '../support/rig-of.ts'

test('onSignedIn is called once for each login, with claims and key, before the user sees the app', async () => {
  const logins: NewSession[] = []
  let isDone = false
  const rig = await rigOf({
    backend: {
      async onSignedIn(login) {
        logins.push(login)
        await new Promise((resolve) => setImmediate(resolve))
        isDone = true
      },
    },
  })
  const browser = rig.browser()
  const { pathname, search } = await browser.goToCallback()
  const load = () => browser.send(pathname + search, {}, 'cross-site')
  expect((await Promise.all([load(), load()])).map(({ status }) => status)).toEqual([200, 200])
  expect(isDone).toBe(true)
  expect(logins).toMatchObject([{ claims: { subject: expect.any(String), tenant: 'demo' } }])
  const session = await rig.backend.getSession({ key: logins[0]?.key ?? '' })
  expect(session).toMatchObject({ signedIn: true, claims: logins[0]?.claims })
  await browser.call()
  expect(logins).toHaveLength(1)
})

test('a login whose onSignedIn throws fails: 500, no session, and an event with its place', async () => {
  const records = new Map<string, string>()
  const rig = await rigOf({
    backend: {
      sessions: {
        getItem: (name) => records.get(name),
        setItem: (name, value) => void records.set(name, value),
        removeItem: (name) => void records.delete(name),
      },
      onSignedIn: () => Promise.reject(new Error('duplicate key: ada@demo.example')),
    },
  })
  const browser = rig.browser()
  const failed = await browser.logIn()
  expect([failed.status, await failed.text()]).toEqual([500, expect.not.stringContaining('ada')])
  expect(await browser.status()).toBe('signed-out')
  expect([...records.keys()].filter((name) => name.includes('web-'))).toEqual([])
  expect(rig.events).toContainEqual({
    type: 'unexpected_error',
    route: 'GET /auth/callback',
    cause: { name: 'Error', stack: expect.any(Array) },
  })
})

test.each<[isSame: boolean, headers: Record<string, string>]>([
  [true, { 'sec-fetch-site': 'same-origin' }],
  [true, { origin: 'https://app.demo.example' }],
  [false, { 'sec-fetch-site': 'same-site' }],
  [false, { 'sec-fetch-site': 'cross-site' }],
  [false, { 'sec-fetch-site': 'none' }],
  [false, { 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' }],
  [false, { origin: 'null' }],
  [false, {}],
])('isSameOrigin is %s for a request with %o, of the Fetch API and of Node', async (isSame, headers) => {
  const { backend } = await rigOf()
  expect(backend.isSameOrigin({ headers: new Headers(headers) })).toBe(isSame)
  expect(backend.isSameOrigin({ headers })).toBe(isSame)
})

test('signedIn tells a session from none, also if its token must be refreshed first', async () => {
  const rig = await rigOf()
  const browser = rig.browser()
  expect((await rig.backend.getSession(browser.request('/'))).signedIn).toBe(false)
  await browser.logIn()
  const session = await rig.backend.getSession(browser.request('/'))
  expect(session.signedIn && session.status).toBe('signed-in')
})
