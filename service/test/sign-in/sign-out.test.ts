// Also tests service/src/sign-in/interaction-form.ts, service/src/sign-in/views/sign-out.tsx.
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Page } from '../support/login.ts'
import { authorizeUrl, Browser, clientOf, login, personOf, refresh, signInPath } from '../support/login.ts'
import { createService } from '../support/start.ts'

const path = '/auth/v1/sign-out'
const confirm = `${path}/confirm`

let service: Service
let browser: Browser
beforeEach(async () => {
  service = await createService()
  browser = new Browser(service.fetch)
})
afterEach(() => service.close())

async function signIn(): Promise<void> {
  const { email, password } = personOf(service, 'ada')
  await browser.submit(await browser.get(authorizeUrl(service).url), signInPath, { email, password })
}

const open = (): Promise<Page> => browser.get(service.authUrl + path)
const isAskedForPassword = async (): Promise<boolean> =>
  (await browser.get(authorizeUrl(service).url)).html.includes('name="password"')

test('the page says who is signed in, and only its form ends the session, at the service alone', async () => {
  const tokens = await login(service, { browser })
  const page = await open()
  expect({ status: page.status, hasEmail: page.html.includes('ada@demo.example') }).toEqual({
    status: 200,
    hasEmail: true,
  })
  expect(await isAskedForPassword()).toBe(false)
  const done = await browser.submit(page, confirm, {})
  expect({
    status: done.status,
    isSignedOut: done.html.includes('not signed in'),
    session: browser.cookie('session'),
  }).toStrictEqual({ status: 200, isSignedOut: true, session: undefined })
  expect(await isAskedForPassword()).toBe(true)
  expect(service.dev.journal().filter((entry) => 'event' in entry && entry.event === 'signed_out')).toHaveLength(1)
  expect((await refresh(service, clientOf(service, 'Demo public'), tokens.refresh_token)).status).toBe(200)
})

test('without the token of its session, or from another origin, the form ends nothing', async () => {
  await signIn()
  const page = await open()
  const elsewhere = new Browser(service.fetch)
  const kept = browser
  browser = elsewhere
  await signIn()
  const { token = '' } = (await open()).hidden(confirm)
  browser = kept
  expect((await browser.submit(page, confirm, { token })).status).toBe(403)
  expect((await browser.submit(page, confirm, { token: '' })).status).toBe(403)
  const cookie = ['browser', 'session'].map((name) => `agent_service_${name}_4001=${browser.cookie(name)}`).join('; ')
  const body = new URLSearchParams(page.hidden(confirm))
  for (const foreign of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }] as Record<
    string,
    string
  >[]) {
    const init = { method: 'POST', body, headers: { cookie, ...foreign } }
    expect((await service.fetch(service.authUrl + confirm, init)).status).toBe(403)
  }
  expect(await isAskedForPassword()).toBe(false)
})

test('without a session the page says so, and a form that is sent twice changes nothing', async () => {
  const nothing = await open()
  expect({
    status: nothing.status,
    hasForm: nothing.html.includes('<form'),
    cacheControl: nothing.response.headers.get('cache-control'),
  }).toEqual({ status: 200, hasForm: false, cacheControl: 'no-store' })
  await signIn()
  const page = await open()
  await browser.submit(page, confirm, {})
  const again = await browser.submit(page, confirm, {})
  expect({ status: again.status, isSignedOut: again.html.includes('not signed in') }).toEqual({
    status: 200,
    isSignedOut: true,
  })
})
