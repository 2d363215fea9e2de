// @module-tag database

import { beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import {
  authorize,
  authorizeUrl,
  Browser,
  codeCount,
  consentPath,
  type LoginOptions,
  type Page,
  personOf,
  signInAs,
  signInPath,
} from '../support/login.ts'
import { oneAssembly } from '../support/one-service.ts'

let assembly: Assembly
let service: Service
let browser: Browser
const fresh = oneAssembly()
beforeEach(async () => {
  assembly = await fresh()
  service = assembly.service
  browser = new Browser(service.fetch)
})

const signIn = (options: LoginOptions = {}): Promise<Page> => signInAs('ada', { service, browser, options })

test('a consent token works once, only for its own request, and other fields change nothing', async () => {
  const page = await signIn()
  const other = await browser.get(authorizeUrl(service).url)
  const foreign = await browser.submit(page, consentPath, {
    decision: 'approve',
    token: other.hidden(consentPath).token ?? '',
  })
  expect({ status: foreign.status, codeCount: await codeCount(assembly) }).toEqual({ status: 400, codeCount: 0 })
  const extra = { redirect_uri: 'https://evil.example/', client_id: 'x', state: 'evil', scope: 'admin' }
  const approved = await browser.submit(page, consentPath, { decision: 'approve', ...extra })
  expect(approved.next).toMatch(/^https:\/\/app\.demo\.example\/callback\?code=[^&]+&state=state-1$/)
  const again = await browser.submit(page, consentPath, { decision: 'approve' })
  expect({ status: again.status, codeCount: await codeCount(assembly) }).toEqual({ status: 400, codeCount: 1 })
})

test('of 20 approvals at once one counts', async () => {
  const page = await signIn()
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => browser.submit(page, consentPath, { decision: 'approve' })),
  )
  expect(answers.filter(({ next }) => next !== undefined)).toHaveLength(1)
  expect(await codeCount(assembly)).toBe(1)
})

test('another browser, a foreign origin and an old page get no code', async () => {
  const page = await signIn()
  const stranger = new Browser(service.fetch)
  expect((await stranger.submit(page, consentPath, { decision: 'approve' })).status).toBe(400)
  const url = service.authUrl + consentPath
  for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site', origin: 'null' }]) {
    const body = new URLSearchParams({ ...page.hidden(consentPath), decision: 'approve' })
    expect((await service.fetch(url, { method: 'POST', body, headers })).status).toBe(403)
  }
  service.dev.advance(10 * 60_000)
  expect((await browser.submit(page, consentPath, { decision: 'approve' })).status).toBe(400)
  expect(await codeCount(assembly)).toBe(0)
})

test('when another user has signed in since, approving asks that user and issues nothing', async () => {
  const otherTab = await browser.get(authorizeUrl(service).url)
  const shownToAda = await signIn()
  const { email, password } = personOf(service, 'rui')
  await browser.submit(otherTab, signInPath, { email, password })
  const page = await browser.submit(shownToAda, consentPath, { decision: 'approve' })
  expect({ next: page.next, codeCount: await codeCount(assembly) }).toEqual({ next: undefined, codeCount: 0 })
  expect(page.html).toContain('rui@demo.example')
})

test('consent shows client, tenant, meaning and return host as inert text, every time', async () => {
  const db = rawDatabase(assembly.context.store.db)
  await db.updateTable('clients').set({ name: '<b>Bank</b>\u202e' }).where('name', '=', 'Demo public').execute()
  const client = service.clients[0]
  if (client === undefined) throw new Error('no client')
  const page = await signIn({ client })
  expect(page.html).toContain('<bdi>&lt;b&gt;Bank&lt;/b&gt;\u202e</bdi>')
  expect(page.html).toContain('app.demo.example')
  expect(page.html).toContain('Demo')
  await browser.submit(page, consentPath, { decision: 'approve' })
  expect((await browser.get(authorizeUrl(service, { client }).url)).html).toContain(consentPath)
})

test('denial issues nothing', async () => {
  await authorize(service, { decision: 'deny' })
  expect(await codeCount(assembly)).toBe(0)
})

test.each([
  ['clients', { active: 0 }, 'the client is inactive'],
  ['client_approvals', { active: 0 }, 'the tenant of this account has not approved the client'],
  ['client_approvals', { surfaces: '[]' }, 'the client may not use the API, because it lacks the api surface'],
] as const)('no code when %s says %o, and the error says which it is', async (table, change, description) => {
  await rawDatabase(assembly.context.store.db).updateTable(table).set(change).execute()
  const { url } = await authorize(service)
  expect(url.searchParams.get('error')).toBe('unauthorized_client')
  expect(url.searchParams.get('error_description')).toBe(description)
  expect(await codeCount(assembly)).toBe(0)
})

test('a client that is not approved for the tenant of the person gets no code', async () => {
  const { url } = await authorize(service, { person: personOf(service, 'ola') })
  expect(url.searchParams.get('error')).toBe('unauthorized_client')
  expect(url.searchParams.get('error_description')).toBe('the tenant of this account has not approved the client')
})
