// @module-tag database

import { createHash, scryptSync } from 'node:crypto'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createPasswords } from '../../src/credentials/passwords.ts'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { authorizeUrl, Browser, consentPath, type Page, personOf, signInPath } from '../support/login.ts'
import { assemble } from '../support/start.ts'
import { observe } from '../support/statements.ts'

let assembly: Assembly
let service: Service
let browser: Browser
beforeEach(async () => {
  assembly = await assemble({})
  service = assembly.service
  browser = new Browser(service.fetch)
})
afterEach(() => service.close())

async function trySignIn(email: string, password: string): Promise<Page> {
  return browser.submit(await browser.get(authorizeUrl(service).url), signInPath, { email, password })
}

async function signIn(): Promise<Page> {
  const { email, password } = personOf(service, 'ada')
  return trySignIn(email, password)
}

const isSignIn = (page: Page): boolean => page.html.includes('name="password"')

test('a hash with weaker parameters is renewed at the next sign-in', async () => {
  const { email, password } = personOf(service, 'ada')
  const old = `scrypt$16384$8$1$salt$${scryptSync(password, 'salt', 32, { N: 2 ** 14 }).toString('base64url')}`
  const db = rawDatabase(assembly.context.store.db)
  const read = () =>
    db.selectFrom('people').select('password_hash').where('email', '=', email).executeTakeFirstOrThrow()
  await db.updateTable('people').set({ password_hash: old }).where('email', '=', email).execute()
  expect(isSignIn(await trySignIn(email, 'wrong-password'))).toBe(true)
  expect((await read()).password_hash).toBe(old)
  expect(isSignIn(await signIn())).toBe(false)
  expect((await read()).password_hash).not.toBe(old)
  expect(assembly.context.passwords.isCurrent((await read()).password_hash)).toBe(true)
})

test('1,024 characters are taken, 1,025 are refused without hashing', async () => {
  const lengths: number[] = []
  const { verify, ...others } = assembly.context.passwords
  const counting: typeof verify = (password, stored) => {
    lengths.push(password.length)
    return verify(password, stored)
  }
  Object.assign(assembly.context, { passwords: { ...others, verify: counting } })
  expect((await trySignIn(personOf(service, 'ada').email, 'p'.repeat(1_024))).status).toBe(403)
  expect((await trySignIn(personOf(service, 'ada').email, 'p'.repeat(1_025))).status).toBe(422)
  expect(lengths).toEqual([1_024])
})

test('an unknown person and a wrong password get the same answer', async () => {
  // The form keeps the email address that was sent, and the request that it belongs to.
  const answer = async (email: string) => {
    const { status, html } = await trySignIn(email, 'wrong-password')
    expect(html).toContain(`value="${email}"`)
    return { status, html: html.replaceAll(email, '').replace(/name="request" value="[^"]+"/, '') }
  }
  const wrong = await answer(personOf(service, 'ada').email)
  expect(wrong.status).toBe(403)
  expect(await answer('nobody@demo.example')).toEqual(wrong)
})

test('an unknown person costs the same hash and the same queries as a wrong password', async () => {
  const hashed: unknown[] = []
  const passwords = createPasswords({
    scheme: 'scrypt',
    key: new Uint8Array(32),
    derive: async (password, salt, cost) => {
      hashed.push({ passwordLength: password.length, saltLength: salt.length, cost })
      return createHash('sha256').update(password).digest('base64url')
    },
  })
  // The clean-up of every minute would be counted too.
  service.dev.freeze()
  const stored = await passwords.hash('p'.repeat(20))
  const work: unknown[][] = []
  const sql: string[] = []
  observe(assembly, { before: (statement) => void sql.push(statement.sql) })
  Object.assign(assembly.context, { passwords })
  await rawDatabase(assembly.context.store.db).updateTable('people').set({ password_hash: stored }).execute()
  for (const email of [personOf(service, 'ada').email, 'nobody@demo.example', personOf(service, 'ola').email]) {
    hashed.length = 0
    sql.length = 0
    expect((await trySignIn(email, 'wrong-password')).status).toBe(403)
    work.push([...hashed, ...sql])
  }
  expect(work[0]?.[0]).toEqual({
    passwordLength: 'wrong-password'.length,
    saltLength: 22,
    cost: { N: 2 ** 17, r: 8, p: 1 },
  })
  expect(work[1]).toEqual(work[0])
  expect(work[2]).toEqual(work[0])
})

test('guessing is slowed down per account, the right password works after the delay', async () => {
  // However long fifty guesses take here, for the service no time passes.
  service.dev.freeze()
  const { email, password } = personOf(service, 'ada')
  const statuses: number[] = []
  for (let guess = 0; guess < 50; guess += 1) statuses.push((await trySignIn(email, `wrong-${guess}`)).status)
  expect(statuses.slice(0, 6)).toEqual([403, 403, 403, 403, 403, 403])
  expect(new Set(statuses.slice(6))).toEqual(new Set([429]))
  const refused = await trySignIn(email, password)
  const retryAfter = Number(refused.response.headers.get('retry-after'))
  expect({ status: refused.status, hasRetryAfter: retryAfter > 0 }).toEqual({ status: 429, hasRetryAfter: true })
  service.dev.advance(retryAfter * 1_000)
  expect(isSignIn(await trySignIn(email, password))).toBe(false)
})

test('the session id is new at sign-in, stored as a hash, HttpOnly and Lax', async () => {
  const planted = 'A'.repeat(43)
  await browser.get(authorizeUrl(service).url)
  browser.setCookie('agent_service_session_4001', planted)
  const page = await signIn()
  const line = page.response.headers.getSetCookie().find((cookie) => cookie.includes('session')) ?? ''
  expect(line).toMatch(/^agent_service_session_4001=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
  expect(browser.cookie('session')).not.toBe(planted)
  const rows = await rawDatabase(assembly.context.store.db).selectFrom('sign_in_sessions').selectAll().execute()
  expect(JSON.stringify(rows)).not.toContain(browser.cookie('session') ?? '-')
})

test('of two session cookies none counts, because a page on another port can plant one', async () => {
  await signIn()
  const { url } = authorizeUrl(service)
  const own = `agent_service_session_4001=${browser.cookie('session')}`
  const other = new Browser(service.fetch)
  const { email, password } = personOf(service, 'rui')
  await other.submit(await other.get(url), signInPath, { email, password })
  const planted = `agent_service_session_4001=${other.cookie('session')}`
  const show = async (cookie: string) => isSignIn(await new Browser(service.fetch).get(url, { cookie }))
  expect(await show(own)).toBe(false)
  for (const cookie of [`${planted}; ${own}`, `${own}; ${planted}`, `${own};x=1;${planted}`, `${own}; ${own}`]) {
    expect(await show(cookie)).toBe(true)
  }
})

test('of two browser cookies none counts', async () => {
  const { email, password } = personOf(service, 'ada')
  const page = await browser.get(authorizeUrl(service).url)
  const own = `agent_service_browser_4001=${browser.cookie('browser')}`
  const submit = (cookie: string) =>
    service.fetch(service.authUrl + signInPath, {
      method: 'POST',
      headers: { cookie },
      body: new URLSearchParams({ ...page.hidden(signInPath), email, password }),
    })
  expect((await submit(`agent_service_browser_4001=${'A'.repeat(43)}; ${own}`)).status).toBe(400)
  expect((await submit(`${own}; agent_service_browser_4001=${'A'.repeat(43)}`)).status).toBe(400)
  expect((await submit(own)).status).toBe(200)
})

test('on https the cookies are __Host- and Secure', async () => {
  const secure = await assemble({ authUrl: 'https://auth.demo.example', baseUrl: 'https://api.demo.example' })
  const page = await new Browser(secure.service.fetch).get(authorizeUrl(secure.service).url)
  const [line = ''] = page.response.headers.getSetCookie()
  expect(line).toMatch(/^__Host-agent_service_browser=[^;]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
  await secure.service.close()
})

test.each([
  ['30 minutes idle', [30 * 60_000]],
  ['12 hours in all', Array.from({ length: 37 }, () => 20 * 60_000)],
])('a session ends after %s', async (_, stepsMs) => {
  await signIn()
  const { url } = authorizeUrl(service)
  for (const stepMs of stepsMs.slice(0, -1)) {
    service.dev.advance(stepMs)
    await browser.get(url)
  }
  service.dev.advance(stepsMs.at(-1) ?? 0)
  expect(isSignIn(await browser.get(url))).toBe(true)
})

test('activity keeps a session alive, sign-out and disabling end it', async () => {
  service.dev.freeze()
  const consent = await signIn()
  const { url } = authorizeUrl(service)
  service.dev.advance(29 * 60_000)
  expect(isSignIn(await browser.get(url))).toBe(false)
  service.dev.advance(29 * 60_000)
  const page = await browser.get(url)
  expect(isSignIn(page)).toBe(false)
  expect(isSignIn(consent)).toBe(false)
  const old = browser.cookie('session') ?? ''
  await browser.submit(page, '/auth/v1/sign-out', {})
  browser.setCookie('agent_service_session_4001', old)
  expect(isSignIn(await browser.get(url))).toBe(true)
  await signIn()
  await rawDatabase(assembly.context.store.db).updateTable('people').set({ active: 0 }).execute()
  expect(isSignIn(await browser.get(url))).toBe(true)
})

test('a sign-in form counts only in the browser that asked for it, and sends no user elsewhere', async () => {
  const { email, password } = personOf(service, 'ada')
  const page = await browser.get(authorizeUrl(service).url)
  const victim = new Browser(service.fetch)
  await victim.get(authorizeUrl(service).url)
  const forged = await victim.submit(page, signInPath, { email, password })
  expect({ status: forged.status, session: victim.cookie('session') }).toStrictEqual({
    status: 400,
    session: undefined,
  })
  const foreign = await service.fetch(service.authUrl + signInPath, {
    method: 'POST',
    headers: { origin: 'https://evil.example' },
    body: new URLSearchParams({ ...page.hidden(signInPath), email, password }),
  })
  expect(foreign.status).toBe(403)
  const signedIn = await browser.submit(page, signInPath, { email, password, return_to: 'https://evil.example' })
  expect(signedIn.html).toContain(consentPath)
  expect(signedIn.html).not.toContain('evil')
})

test.each([
  ['a body over 32 KiB', 'application/x-www-form-urlencoded', `email=${'a'.repeat(33_000)}`, 413],
  ['another type', 'application/json', '{}', 415],
  ['a repeated field', 'application/x-www-form-urlencoded', 'email=a&email=b', 400],
])('%s is no sign-in form', async (_, type, body, status) => {
  const answer = await service.fetch(service.authUrl + signInPath, {
    method: 'POST',
    headers: { 'content-type': type },
    body,
  })
  expect(answer.status).toBe(status)
})

test('after a wrong password the form keeps the email address, as text, and asks for the password', async () => {
  const email = '"ada&co"@demo.example'
  const { html } = await trySignIn(email, 'wrong-password')
  expect(html).toContain('value="&quot;ada&amp;co&quot;@demo.example"')
  expect(/<input[^>]*type="password"[^>]*>/.exec(html)?.[0]).toContain('autofocus')
  expect(html).not.toContain('wrong-password')
})
