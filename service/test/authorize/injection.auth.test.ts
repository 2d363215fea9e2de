// @module-tag database

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Client, Person, Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { injectionCorpus } from '../support/injection-corpus.ts'
import {
  authorize,
  authorizeUrl,
  Browser,
  type Callback,
  clientOf,
  consentPath,
  exchange,
  login,
  type Page,
  personOf,
  signInPath,
} from '../support/login.ts'
import { assemble } from '../support/start.ts'
import { observe } from '../support/statements.ts'

// Pages take longer than searches, and ask the database for hashes and ids.
const corpus = injectionCorpus.filter((_, index) => index % 4 === 0)
const callback = 'https://app.demo.example/callback'

let assembly: Assembly
let service: Service
let ada: Person
let publicClient: Client
let confidential: Client
let before: string
const sql = new Set<string>()

beforeAll(async () => {
  assembly = await assemble({ dev: 'on' })
  service = assembly.service
  ada = personOf(service, 'ada')
  publicClient = clientOf(service, 'Demo public')
  confidential = clientOf(service, 'Demo confidential')
  observe(assembly, { before: (statement) => void sql.add(statement.sql) })
  before = await registered()
  // Nothing expires, however long the strings take here.
  service.dev.freeze()
})
beforeEach(() => service.dev.autoApprove(undefined))
afterAll(() => service.close())

async function registered(): Promise<string> {
  const db = rawDatabase(assembly.context.store.db)
  const tables = ['tenants', 'people', 'clients', 'client_approvals', 'client_redirect_uris', 'service_keys'] as const
  const rows = await Promise.all(tables.map((table) => db.selectFrom(table).selectAll().execute()))
  // In no order: PostgreSQL moves a row that was locked by an update.
  return JSON.stringify(rows.map((found) => found.map((row) => JSON.stringify(row)).sort()))
}

/** Guesses are slowed down; here all of them have to get through. */
function forgetFailures(): void {
  for (const throttle of Object.values(assembly.context.throttles)) throttle.clear()
}

/** Nothing unexpected, nothing of the text as markup, and no header that it brought along. */
function expectHarmless(page: Page | { response: Response; html: string }, text: string, statuses: number[]): void {
  const { response, html } = page
  // Without `expect` for what is harmless: thousands of those cost as much as the pages.
  const fail = (harm: string): never => expect.fail(`${JSON.stringify(text)} ${harm}: ${html.slice(0, 300)}`)
  if (!statuses.includes(response.status)) fail(`is answered ${response.status} instead of ${statuses.join(' or ')}`)
  if (/[<"]/.test(text) && text.length > 6 && html.includes(text)) fail('is in the page as it is')
  if (response.headers.has('x-injected')) fail('brought a header along')
  for (const cookie of response.headers.getSetCookie())
    if (!/^agent_service_(browser|session)_4001=[\w-]*; /.test(cookie)) fail(`set the cookie ${cookie}`)
}

test('as client_id and redirect_uri hostile strings get a page and no redirect', async () => {
  service.dev.autoApprove(ada.email)
  for (const text of corpus) {
    for (const name of ['client_id', 'redirect_uri']) {
      const browser = new Browser(service.fetch)
      const page = await browser.get(authorizeUrl(service, { parameters: { [name]: text } }).url)
      expectHarmless(page, text, [400])
      if (page.next !== undefined) expect.fail(`${JSON.stringify(text)} leads to ${page.next}`)
    }
  }
})

test('as any other authorize parameter hostile strings come back to the client as an error at most', async () => {
  service.dev.autoApprove(ada.email)
  const browser = new Browser(service.fetch)
  const send = async (name: string, text: string, state: string): Promise<URLSearchParams> => {
    const page = await browser.get(authorizeUrl(service, { parameters: { state, [name]: text } }).url)
    expectHarmless(page, text, [302])
    const next = page.next ?? ''
    if (!next.startsWith(`${callback}?`) || !/^[\x21-\x7e]+$/.test(next)) expect.fail(`${text} leads to ${next}`)
    return new URL(next).searchParams
  }
  for (const text of corpus) {
    const wanted = text.replace(/\p{Cs}/gu, '\ufffd')
    const granted = await send('state', text, '')
    expect([...granted.keys()]).toEqual(['code', 'state'])
    expect(granted.get('state')).toBe(wanted)
    const expected = { response_type: 'unsupported_response_type', scope: 'invalid_scope' }
    for (const [name, error] of Object.entries(expected))
      expect([...(await send(name, text, 's'))]).toEqual([
        ['error', error],
        ['state', 's'],
      ])
    for (const name of ['code_challenge', 'code_challenge_method'])
      expect([...(await send(name, text, 's'))]).toEqual([
        ['error', 'invalid_request'],
        ['state', 's'],
      ])
  }
})

test('as email, password, request, token or decision hostile strings sign no user in and approve nothing', async () => {
  const browser = new Browser(service.fetch)
  const form = await browser.get(authorizeUrl(service).url)
  for (const text of corpus) {
    forgetFailures()
    expectHarmless(await browser.submit(form, signInPath, { email: text, password: text }), text, [403])
    expectHarmless(await browser.submit(form, signInPath, { email: ada.email, password: text }), text, [403])
    expectHarmless(await browser.submit(form, signInPath, { request: text }), text, [400])
  }
  forgetFailures()
  const consent = await browser.submit(form, signInPath, { email: ada.email, password: ada.password })
  expect(consent.hidden(consentPath).token).toBeDefined()
  for (const text of corpus) {
    expectHarmless(await browser.submit(consent, consentPath, { decision: text }), text, [400])
    expectHarmless(await browser.submit(consent, consentPath, { decision: 'approve', token: text }), text, [400])
  }
  expect((await browser.submit(consent, consentPath, { decision: 'approve' })).next).toContain('code=')
})

async function post(query: string, body: URLSearchParams | string, authorization?: string) {
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
  if (typeof body === 'string') headers['content-type'] = 'application/json'
  const response = await service.fetch(`${service.authUrl}/auth/v1/token?${query}`, { method: 'POST', headers, body })
  return { response, html: await response.text() }
}

async function expectRefused(answer: Awaited<ReturnType<typeof post>>, text: string): Promise<void> {
  expectHarmless(answer, text, [400, 401])
  const isError = /^\{"error":"[a-z_]+","error_description":"[\x20-\x21\x23-\x5b\x5d-\x7e]*"\}$/.test(answer.html)
  if (!isError) expect.fail(`${JSON.stringify(text)} is answered ${answer.html}`)
}

test('in each field of the token endpoint hostile strings are refused', async () => {
  const good: Callback = await authorize(service)
  const tokens = await login(service)
  const own = { client_id: publicClient.clientId }
  const fields = { code: good.code, redirect_uri: good.redirectUri, code_verifier: good.verifier, ...own }
  const db = rawDatabase(assembly.context.store.db)
  for (const text of corpus) {
    forgetFailures()
    for (const name of Object.keys(fields)) {
      const body = new URLSearchParams({ ...fields, [name]: text })
      await expectRefused(await post('grant_type=authorization_code', body), text)
    }
    // Five failures would spend the code, which is another row's matter.
    await db.updateTable('authorization_codes').set({ attempts: 0 }).execute()
    const refused = [JSON.stringify({ ...own, refresh_token: text }), text]
    for (const body of [...refused, JSON.stringify({ refresh_token: tokens.refresh_token, client_id: text })]) {
      await expectRefused(await post('grant_type=refresh_token', body), text)
    }
    await expectRefused(await post(`grant_type=${encodeURIComponent(text.replace(/\p{Cs}/gu, ''))}`, '{}'), text)
    for (const pair of [`${confidential.clientId}:${text}`, `${text}:x`]) {
      const basic = `Basic ${Buffer.from(pair).toString('base64')}`
      await expectRefused(await post('grant_type=refresh_token', '{"refresh_token":"x"}', basic), text)
    }
  }
  expect((await exchange(service, good)).status).toBe(200)
})

test('after all of it no user and no other data are changed, and no text of a statement holds what was sent', async () => {
  expect((await registered()) === before).toBe(true)
  const telling = corpus.filter((text) => text.length > 4 && !/^\w*$/.test(text))
  expect([...sql].filter((statement) => telling.some((text) => statement.includes(text)))).toEqual([])
  expect(sql.size).toBeGreaterThan(20)
  expect(sql.size).toBeLessThan(80)
})
