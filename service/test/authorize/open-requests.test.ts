// @module-tag database

import { beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { authorizeUrl, Browser, consentPath, type Page, personOf, signInPath } from '../support/login.ts'
import { oneAssembly } from '../support/one-service.ts'

let assembly: Assembly
let service: Service
const fresh = oneAssembly()
beforeEach(async () => {
  assembly = await fresh()
  service = assembly.service
})

async function rows(): Promise<number> {
  return (await rawDatabase(assembly.context.store.db).selectFrom('authorization_requests').select('id_hash').execute())
    .length
}

const ask = (browser: Browser, state?: string): Promise<Page> =>
  browser.get(authorizeUrl(service, state === undefined ? {} : { state }).url)

function signIn(browser: Browser, page: Page, name = 'ada'): Promise<Page> {
  const { email, password } = personOf(service, name)
  return browser.submit(page, signInPath, { email, password })
}

const approve = (browser: Browser, page: Page): Promise<Page> =>
  browser.submit(page, consentPath, { decision: 'approve' })

test('requests of strangers leave nothing behind, and each of them can still sign in', async () => {
  const browsers = Array.from({ length: 50 }, () => new Browser(service.fetch))
  const pages = await Promise.all(browsers.map((browser, index) => ask(browser, `state-${index}`)))
  expect(await rows()).toBe(0)
  const [browser, page] = [browsers[7] as Browser, pages[7] as Page]
  // A wrong password changes nothing, and keeps nothing.
  const refused = await browser.submit(page, signInPath, { email: 'ada@demo.example', password: 'wrong' })
  expect({ status: refused.status, rows: await rows() }).toEqual({ status: 403, rows: 0 })
  const done = await approve(browser, await signIn(browser, refused))
  expect(new URL(done.next ?? '').searchParams.get('state')).toBe('state-7')
  expect(await rows()).toBe(1)
})

test('a request that the page carries works in its browser, in its time, and to its end once', async () => {
  const browser = new Browser(service.fetch)
  const page = await ask(browser)
  const carried = page.hidden(signInPath).request ?? ''
  expect((await signIn(new Browser(service.fetch), page)).status).toBe(400)
  const changed = carried.replace(/^(.{60})./, (_, start: string) => start + (carried[60] === 'A' ? 'B' : 'A'))
  const { email, password } = personOf(service, 'ada')
  expect((await browser.submit(page, signInPath, { email, password, request: changed })).status).toBe(400)
  const first = await signIn(browser, page)
  // Going back and signing in again goes on with the same request.
  const second = await signIn(browser, page)
  expect({ first: first.status, second: second.status, rows: await rows() }).toEqual({
    first: 200,
    second: 200,
    rows: 1,
  })
  expect(new URL((await approve(browser, second)).next ?? '').searchParams.get('code')).not.toBeNull()
  expect((await signIn(browser, page)).status).toBe(400)
  expect((await approve(browser, first)).status).toBe(400)
  const stranger = new Browser(service.fetch)
  // The clock is stopped, so that the sign-in comes exactly when the request ends.
  service.dev.freeze()
  const late = await ask(stranger)
  service.dev.advance(10 * 60_000)
  expect({ status: (await signIn(stranger, late)).status, rows: await rows() }).toEqual({ status: 400, rows: 1 })
})

test('the page shows nothing of the request that it carries, and a request of 2 KiB of state fits', async () => {
  const browser = new Browser(service.fetch)
  const state = 'ä'.repeat(1_024)
  const page = await ask(browser, state)
  const carried = page.hidden(signInPath).request ?? ''
  expect(Buffer.from(carried, 'base64url').toString('latin1')).not.toMatch(/redirect|callback|state/i)
  const { email } = personOf(service, 'ada')
  const refused = await browser.submit(page, signInPath, { email, password: 'ä'.repeat(1_024) })
  expect(refused.status).toBe(403)
  const done = await approve(browser, await signIn(browser, refused))
  expect(new URL(done.next ?? '').searchParams.get('state')).toBe(state)
})

test('of one session the newest 20 requests stay open, and those of others are left alone', async () => {
  const other = new Browser(service.fetch)
  const pending = await signIn(other, await ask(other), 'rui')
  const browser = new Browser(service.fetch)
  const first = await signIn(browser, await ask(browser))
  let last = first
  for (let request = 0; request < 40; request += 1) {
    service.dev.advance(1)
    last = await ask(browser)
  }
  expect(await rows()).toBeLessThanOrEqual(1 + 21)
  expect((await approve(browser, first)).status).toBe(400)
  expect((await approve(browser, last)).next).toContain('code=')
  expect((await approve(other, pending)).next).toContain('code=')
})

test('a request that was decided stays decided, however many requests of its session follow', async () => {
  const browser = new Browser(service.fetch)
  const page = await ask(browser)
  const consentPage = await signIn(browser, page)
  expect((await approve(browser, consentPage)).next).toContain('code=')
  for (let request = 0; request < 25; request += 1) {
    service.dev.advance(1)
    await ask(browser)
  }
  expect((await signIn(browser, page)).status).toBe(400)
  expect((await approve(browser, consentPage)).status).toBe(400)
})

const deny = (browser: Browser, page: Page): Promise<Page> => browser.submit(page, consentPath, { decision: 'deny' })

test('a signed-in user whose tenant has not approved the client leaves no request behind', async () => {
  const browser = new Browser(service.fetch)
  await service.dev.setAccess({ approval: { 'Demo public': 'unapproved' } })
  const refused = await signIn(browser, await ask(browser))
  expect(new URL(refused.next ?? '').searchParams.get('error')).toBe('unauthorized_client')
  for (let request = 0; request < 5; request += 1) {
    expect(new URL((await ask(browser)).next ?? '').searchParams.get('error')).toBe('unauthorized_client')
  }
  expect(await rows()).toBe(0)
})

test('an authorization request that was refused because its client was not approved stays refused after the approval', async () => {
  const browser = new Browser(service.fetch)
  const consentPage = await signIn(browser, await ask(browser))
  await service.dev.setAccess({ approval: { 'Demo public': 'unapproved' } })
  const refused = await approve(browser, consentPage)
  await service.dev.setAccess({ approval: { 'Demo public': 'approved' } })
  const again = await approve(browser, consentPage)
  const error = new URL(refused.next ?? '').searchParams.get('error')
  expect({ error, status: again.status, next: again.next }).toEqual({
    error: 'unauthorized_client',
    status: 400,
    next: undefined,
  })
})

test('a user who decides again and again leaves no request behind but the one that the sign-in page carried', async () => {
  const browser = new Browser(service.fetch)
  const first = await signIn(browser, await ask(browser, 'state-of-the-page'))
  expect(new URL((await deny(browser, first)).next ?? '').searchParams.get('error')).toBe('access_denied')
  for (const decide of [deny, approve, deny, approve]) await decide(browser, await ask(browser))
  const left = await rawDatabase(assembly.context.store.db).selectFrom('authorization_requests').selectAll().execute()
  expect(left).toHaveLength(1)
  // Only what keeps the page from being used again is left of it.
  expect(left[0]).toMatchObject({ redirect_uri: '', state: null, session_hash: null, consent_hash: null })
})

test('the consent form takes no request that a sign-in page carries, so that each one costs a password', async () => {
  const browser = new Browser(service.fetch)
  const carried = (await ask(browser)).hidden(signInPath).request ?? ''
  const consentPage = await signIn(browser, await ask(browser))
  const before = await rows()
  const page = await browser.submit(consentPage, consentPath, { request: carried, decision: 'deny' })
  expect({ status: page.status, rows: await rows() }).toEqual({ status: 400, rows: before })
  expect(page.html).toContain('start again')
})

test('a page from before a reset is too old: its request may have been decided', async () => {
  const browser = new Browser(service.fetch)
  const page = await ask(browser)
  const consentPage = await signIn(browser, page)
  expect((await approve(browser, consentPage)).next).toContain('code=')
  await service.dev.reset()
  const again = await signIn(browser, page)
  expect({ status: again.status, rows: await rows() }).toEqual({ status: 400, rows: 0 })
  expect(again.html).toContain('start again')
  expect((await approve(browser, consentPage)).status).toBe(400)
  // A request that begins after the reset is as good as before.
  expect((await approve(browser, await signIn(browser, await ask(browser)))).next).toContain('code=')
})
