import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import { authorizeUrl, Browser, clientOf, login, type Page, personOf, refresh, signInPath } from '../support/login.ts'
import { createService } from '../support/start.ts'

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

/** Opens the logout URL of a client, with the return address that it asks for. */
function logout(returnTo?: string, clientName = 'Demo public', headers: Record<string, string> = {}): Promise<Page> {
  const url = new URL(`${service.authUrl}/auth/v1/logout`)
  url.searchParams.set('client_id', clientOf(service, clientName).clientId)
  if (returnTo !== undefined) url.searchParams.set('post_logout_redirect_uri', returnTo)
  return browser.get(url.href, headers)
}

async function isAskedForPassword(): Promise<boolean> {
  return (await browser.get(authorizeUrl(service).url)).html.includes('name="password"')
}

test('a logout ends the sign-in of the browser at the service alone, and returns to the application', async () => {
  const tokens = await login(service, { browser })
  expect(await isAskedForPassword()).toBe(false)
  const done = await logout('https://app.demo.example/goodbye?from=logout')
  expect({ status: done.status, next: done.next }).toEqual({
    status: 302,
    next: 'https://app.demo.example/goodbye?from=logout',
  })
  expect(done.response.headers.get('cache-control')).toBe('no-store')
  const removal = 'agent_service_session_4001=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax'
  expect(done.response.headers.getSetCookie()).toEqual([removal])
  expect(await isAskedForPassword()).toBe(true)
  expect(service.dev.journal().filter((entry) => 'event' in entry && entry.event === 'signed_out')).toHaveLength(1)
  expect((await refresh(service, clientOf(service, 'Demo public'), tokens.refresh_token)).status).toBe(200)
})

test('a return address of a public client may have any loopback port, that of a confidential client may not', async () => {
  expect((await logout('http://127.0.0.1:4567/')).next).toBe('http://127.0.0.1:4567/')
  expect((await logout('http://127.0.0.1:3000/', 'Demo confidential')).next).toBe('http://127.0.0.1:3000/')
  expect((await logout('http://127.0.0.1:4567/', 'Demo confidential')).next).toBeUndefined()
})

test.each([
  ['none', undefined],
  ['another origin', 'https://evil.example/'],
  ['a registered origin as userinfo', 'https://app.demo.example@evil.example/'],
  ['a registered origin as the beginning of another', 'https://app.demo.example.evil.example/'],
  ['http in place of https', 'http://app.demo.example/'],
  ['a script', 'javascript:alert(1)'],
  ['data of a registered origin', 'blob:https://app.demo.example/1'],
  ['a registered origin with userinfo', 'https://ada:hidden@app.demo.example/'],
  ['no URL', '/goodbye'],
])('with a return address that is %s, the page says that the user is signed out', async (_, returnTo) => {
  await signIn()
  const page = await logout(returnTo)
  expect({ status: page.status, next: page.next }).toEqual({ status: 200, next: undefined })
  expect(page.html).toContain('You are signed out')
  expect(await isAskedForPassword()).toBe(true)
})

test('an unknown client, or a return address that is sent twice, is not followed', async () => {
  const returnTo = encodeURIComponent('https://app.demo.example/')
  const { clientId } = clientOf(service, 'Demo public')
  for (const query of [
    `client_id=nobody&post_logout_redirect_uri=${returnTo}`,
    `post_logout_redirect_uri=${returnTo}`,
    `client_id=${clientId}&post_logout_redirect_uri=${returnTo}&post_logout_redirect_uri=${returnTo}`,
  ])
    expect((await browser.get(`${service.authUrl}/auth/v1/logout?${query}`)).next).toBeUndefined()
})

test('a prefetch of the logout URL ends nothing', async () => {
  await signIn()
  expect((await logout(undefined, 'Demo public', { 'sec-purpose': 'prefetch' })).status).toBe(403)
  expect(await isAskedForPassword()).toBe(false)
})
