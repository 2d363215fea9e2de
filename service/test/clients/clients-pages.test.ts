// @module-tag database

import { beforeEach, expect, test } from 'vitest'
import type { Client, JournalEntry, Person, Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { clientRegistryOf } from '../../src/store/client-registry.ts'
import { rawDatabase } from '../../src/store/database.ts'
import {
  agentSearch,
  Browser,
  callApi,
  clientOf,
  clientsPath,
  errorOf,
  login,
  type Page,
  personOf,
  refresh,
} from '../support/login.ts'
import { oneAssembly } from '../support/one-service.ts'

let assembly: Assembly
let service: Service
let ada: Person
const fresh = oneAssembly()
beforeEach(async () => {
  assembly = await fresh()
  service = assembly.service
  ada = personOf(service, 'ada')
})

const redirectUri = 'https://new.example/callback'

async function signedIn(person: Person): Promise<{ browser: Browser; page: Page }> {
  const browser = new Browser(service.fetch)
  const page = await browser.get(service.authUrl + clientsPath)
  const { email, password } = person
  const answer = await browser.submit(page, `${clientsPath}/sign-in`, { email, password })
  expect({ status: answer.status, next: answer.next }).toEqual({ status: 303, next: clientsPath })
  return { browser, page: await browser.get(service.authUrl + clientsPath) }
}

async function register(browser: Browser, fields: Record<string, string> = {}): Promise<Page> {
  const form = await browser.get(`${service.authUrl}${clientsPath}/new`)
  const asked = { name: 'Mine', kind: 'confidential', redirect_uris: redirectUri, password: ada.password }
  return browser.submit(form, clientsPath, { ...asked, ...fields })
}

function shown(page: Page, id: 'client-id' | 'client-secret'): string {
  return new RegExp(`id="${id}">([^<]+)<`).exec(page.html)?.[1] ?? ''
}

function asClient(page: Page, kind: Client['kind'] = 'confidential'): Client {
  const clientId = shown(page, 'client-id')
  return { name: 'Mine', clientId, clientSecret: shown(page, 'client-secret'), kind, tenant: 'demo', redirectUris: [] }
}

function events(): string[] {
  const isEvent = (entry: JournalEntry) => entry.kind === 'event'
  return service.dev.journal().flatMap((entry) => (isEvent(entry) && 'event' in entry ? [entry.event] : []))
}

test('an admin registers a client whose secret is shown once and works at once', async () => {
  const { browser, page } = await signedIn(ada)
  expect(page.html).toContain('Demo public')
  expect(page.html).not.toContain('Other public')
  const created = await register(browser)
  expect({ status: created.status, cacheControl: created.response.headers.get('cache-control') }).toEqual({
    status: 200,
    cacheControl: 'no-store',
  })
  const client = asClient(created)
  expect(client.clientSecret).toMatch(/^[\w-]{43}$/)
  const tokens = await login(service, { client, redirectUri })
  expect((await callApi(service, { token: tokens.access_token, path: agentSearch, body: {} })).status).toBe(200)
  const one = await browser.get(`${service.authUrl}${clientsPath}/${client.clientId}`)
  expect(one.html).toContain(redirectUri)
  expect(one.html).not.toContain(client.clientSecret)
})

test('a public client has no secret and logs in with PKCE', async () => {
  const { browser } = await signedIn(ada)
  const client = asClient(await register(browser, { kind: 'public' }), 'public')
  expect(client.clientSecret).toBe('')
  expect((await login(service, { client, redirectUri })).access_token).not.toBe('')
  const one = await browser.get(`${service.authUrl}${clientsPath}/${client.clientId}`)
  expect(one.html).not.toContain('Secrets')
})

test('two secrets work until the old one is retired, a third is refused', async () => {
  const { browser } = await signedIn(ada)
  const client = asClient(await register(browser))
  service.dev.advance(1_000)
  const path = `${clientsPath}/${client.clientId}`
  const page = async () => browser.get(service.authUrl + path)
  const rotated = await browser.submit(await page(), `${path}/secrets`, { password: ada.password })
  const next = { ...client, clientSecret: shown(rotated, 'client-secret') }
  expect(next.clientSecret).not.toBe(client.clientSecret)
  const { refresh_token: first } = await login(service, { client, redirectUri })
  const { refresh_token: second } = await login(service, { client: next, redirectUri })
  const token = (await page()).hidden(`${path}/secrets/retire`).token ?? ''
  const third = await browser.submit(await page(), `${path}/secrets`, { token, password: ada.password })
  expect(third.status).toBe(422)
  expect(third.html).toContain('retire one first')
  const oldest = /name="secret" value="(\w+)"/.exec((await page()).html)?.[1] ?? ''
  expect((await browser.submit(await page(), `${path}/secrets/retire`, { secret: oldest })).next).toBe(path)
  expect(await errorOf(await refresh(service, client, first))).toBe('invalid_client')
  expect((await refresh(service, next, second)).status).toBe(200)
  const last = await browser.submit(await page(), `${path}/secrets/retire`, { secret: oldest })
  expect(last.status).toBe(422)
})

test('a deactivated client is refused everywhere, and works again when activated', async () => {
  const client = clientOf(service, 'Demo public')
  const tokens = await login(service, { client })
  const { browser } = await signedIn(ada)
  const path = `${clientsPath}/${client.clientId}`
  const set = async (activity: string) =>
    browser.submit(await browser.get(service.authUrl + path), `${path}/activity`, { activity })
  const statuses = async () => {
    const call = await callApi(service, { token: tokens.access_token, path: agentSearch, body: {} })
    return { status: call.status, message: ((await call.json()) as { error_message: string | null }).error_message }
  }
  expect((await set('inactive')).next).toBe(path)
  expect(await statuses()).toEqual({ status: 403, message: 'OAuth client is not approved for this API' })
  expect((await refresh(service, client, tokens.refresh_token)).status).not.toBe(200)
  await expect(login(service, { client })).rejects.toThrow()
  expect((await set('active')).status).toBe(303)
  expect(await statuses()).toEqual({ status: 200, message: null })
  expect((await set('sometimes')).status).toBe(400)
})

test.each(['activity', 'secrets', 'secrets/retire'])(
  'a client id that no database can hold is as unknown as any: %s',
  async (action) => {
    const { browser, page } = await signedIn(ada)
    const token = (await browser.get(`${page.url}/new`)).hidden(clientsPath).token ?? ''
    const fields = { token, activity: 'inactive', secret: 'x', password: ada.password }
    expect((await browser.submit(page, `${clientsPath}/%00/${action}`, fields)).status).toBe(404)
  },
)

test.each([
  ['no name', { name: '' }],
  ['a blank name', { name: '  ' }],
  ['101 characters', { name: 'x'.repeat(101) }],
  ['a bidi override', { name: 'a\u202eb' }],
  ['a control character', { name: 'a\u0007b' }],
  ['a line break', { name: 'a\nb' }],
  ['another kind', { kind: 'secret' }],
  ['no redirect URI', { redirect_uris: '' }],
  ['a bad redirect URI', { redirect_uris: 'javascript:x' }],
  ['plain http', { redirect_uris: 'http://example.com/cb' }],
  ['one redirect URI twice', { redirect_uris: `${redirectUri}\r\n${redirectUri}` }],
])('%s is 422 and registers nothing', async (_, fields) => {
  const { browser } = await signedIn(ada)
  const page = await register(browser, fields)
  expect(page.status).toBe(422)
  expect(page.html).toContain('role="alert"')
  const list = await browser.get(service.authUrl + clientsPath)
  expect(list.html.match(/app_\w{32}/g)?.length).toBe(2 * 2)
})

test('ids are ours, random, and unlike those of people; a chosen one is ignored; 100 emoji are a name', async () => {
  const { browser } = await signedIn(ada)
  const ids = new Set<string>()
  for (const name of ['A', 'A', '😀'.repeat(100)]) {
    const page = await register(browser, { name, client_id: 'person_1', id: 'app_chosen' })
    ids.add(shown(page, 'client-id'))
  }
  expect(ids.size).toBe(3)
  for (const id of ids) expect(id).toMatch(/^app_[0-9a-f]{32}$/)
})

test('a tenant has at most 1,000 clients: the page refuses the next one', async () => {
  const { store } = assembly.context
  const clients = clientRegistryOf(store.db, 'demo')
  const here = await clients.count()
  const others = Array.from({ length: 999 - here }, (_, index) => ({
    id: `app_${index}`,
    tenant_id: 'demo',
    name: 'One',
    kind: 'public' as const,
    active: 1 as const,
    position: 1_000 + index,
  }))
  await rawDatabase(store.db).insertInto('clients').values(others).execute()
  const { browser } = await signedIn(ada)
  expect((await register(browser)).status).toBe(200)
  const refused = await register(browser)
  expect({
    status: refused.status,
    hasMessage: refused.html.includes('The tenant has the maximum of 1000 clients.'),
  }).toEqual({ status: 422, hasMessage: true })
  expect(await clients.count()).toBe(1_000)
})

test('markup in a name stays text', async () => {
  const { browser } = await signedIn(ada)
  const page = await register(browser, { name: '<img src=x onerror=alert(1)>' })
  for (const { html } of [page, await browser.get(service.authUrl + clientsPath)]) {
    expect(html).toContain('&lt;img')
    expect(html).not.toContain('<img')
  }
})

test('without signing in there is a sign-in page, and a plain user gets no further', async () => {
  const browser = new Browser(service.fetch)
  for (const path of ['', '/new', '/app_1']) {
    const page = await browser.get(service.authUrl + clientsPath + path)
    expect(page.html).toContain('name="password"')
    expect(page.html).not.toContain('Demo public')
  }
  for (const name of ['rui', 'gil']) {
    const { browser: plain, page } = await signedIn(personOf(service, name))
    expect(page.status).toBe(403)
    expect(page.html).not.toContain('Demo public')
    expect((await plain.submit(page, `${clientsPath}/sign-out`, {})).status).toBe(403)
    expect(events().at(-1)).toBe('access_forbidden')
  }
})

test("another tenant's admin finds nothing: 404 to see, and nothing changes", async () => {
  const { browser } = await signedIn(personOf(service, 'ola'))
  const { clientId } = clientOf(service, 'Demo confidential')
  const token = (await browser.get(service.authUrl + clientsPath)).hidden(`${clientsPath}/sign-out`).token ?? ''
  const path = `${clientsPath}/${clientId}`
  const page = await browser.get(service.authUrl + path)
  expect(page.status).toBe(404)
  const before = await rawDatabase(assembly.context.store.db).selectFrom('client_secrets').selectAll().execute()
  const { password } = personOf(service, 'ola')
  for (const [action, fields] of [
    ['activity', { activity: 'inactive' }],
    ['secrets', { password }],
    ['secrets/retire', { secret: before[0]?.id ?? '' }],
  ] as const) {
    const answer = await browser.submit(page, `${path}/${action}`, { token, ...fields })
    expect(answer.status).toBe(404)
  }
  expect(await rawDatabase(assembly.context.store.db).selectFrom('client_secrets').selectAll().execute()).toEqual(
    before,
  )
  await login(service, { client: clientOf(service, 'Demo confidential') })
})

test.each([
  ['without a token', (token: string) => ({ token: token.slice(0, 0) }), {}],
  ['with a made-up token', () => ({ token: 'x'.repeat(43) }), {}],
  ['from another origin', (token: string) => ({ token }), { origin: 'https://evil.example' }],
  ['from another site', (token: string) => ({ token }), { 'sec-fetch-site': 'cross-site' }],
])('a form %s is 403', async (_, fields, headers) => {
  const { browser, page } = await signedIn(ada)
  const { token = '' } = page.hidden(`${clientsPath}/sign-out`)
  const asked = { name: 'Mine', kind: 'public', redirect_uris: redirectUri, password: ada.password, ...fields(token) }
  const answer = await service.fetch(service.authUrl + clientsPath, {
    method: 'POST',
    headers: { ...headers, cookie: `${cookieName('session')}=${browser.cookie('session')}` },
    body: new URLSearchParams(asked),
  })
  expect(answer.status).toBe(403)
  expect(events()).not.toContain('client_created')
})

test("another session's token and another browser's sign-in token are 403", async () => {
  const first = await signedIn(ada)
  const second = await signedIn(ada)
  const token = first.page.hidden(`${clientsPath}/sign-out`).token ?? ''
  expect((await second.browser.submit(second.page, `${clientsPath}/sign-out`, { token })).status).toBe(403)
  const page = await new Browser(service.fetch).get(service.authUrl + clientsPath)
  const { email, password } = ada
  const planted = await second.browser.submit(page, `${clientsPath}/sign-in`, { email, password })
  expect(planted.status).toBe(403)
})

test('a secret needs the password again, and wrong ones are slowed down', async () => {
  // However long the pages take here, no wait is over before its time.
  service.dev.freeze()
  const { browser } = await signedIn(ada)
  const { clientId } = clientOf(service, 'Demo confidential')
  const path = `${clientsPath}/${clientId}`
  const page = await browser.get(service.authUrl + path)
  for (const password of ['', personOf(service, 'rui').password]) {
    expect((await browser.submit(page, `${path}/secrets`, { password })).status).toBe(403)
    expect((await register(browser, { password })).status).toBe(403)
  }
  for (const password of ['x', 'y']) await browser.submit(page, `${path}/secrets`, { password })
  expect((await browser.submit(page, `${path}/secrets`, { password: ada.password })).status).toBe(429)
  expect(events()).not.toContain('client_secret_created')
  service.dev.advance(15 * 60_000)
  expect((await browser.submit(page, `${path}/secrets`, { password: ada.password })).status).toBe(200)
})

test('every change is one event with actor, client and tenant, and without a secret', async () => {
  const { browser } = await signedIn(ada)
  const { clientId, clientSecret = '-' } = asClient(await register(browser))
  const path = `${clientsPath}/${clientId}`
  const page = async () => browser.get(service.authUrl + path)
  const rotated = await browser.submit(await page(), `${path}/secrets`, { password: ada.password })
  const secret = /name="secret" value="(\w+)"/.exec((await page()).html)?.[1] ?? ''
  await browser.submit(await page(), `${path}/secrets/retire`, { secret })
  await browser.submit(await page(), `${path}/activity`, { activity: 'inactive' })
  await browser.submit(await page(), `${path}/activity`, { activity: 'active' })
  const own = service.dev.journal().filter((entry) => entry.kind === 'event' && entry.event.startsWith('client_'))
  const names = ['created', 'secret_created', 'secret_retired', 'deactivated', 'activated']
  const personId = own[0]?.kind === 'event' ? own[0].personId : ''
  expect(personId).toMatch(/^person_/)
  expect(own).toEqual(
    names.map((name) => expect.objectContaining({ event: `client_${name}`, clientId, personId, tenant: 'demo' })),
  )
  const log = JSON.stringify(service.dev.journal())
  for (const text of [clientSecret, shown(rotated, 'client-secret'), ada.password]) expect(log).not.toContain(text)
})

test('the pages carry the strict headers, and signing out ends the session', async () => {
  const { browser, page } = await signedIn(ada)
  expect(page.response.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(page.response.headers.get('cache-control')).toBe('no-store')
  expect((await browser.submit(page, `${clientsPath}/sign-out`, {})).status).toBe(303)
  expect((await browser.get(service.authUrl + clientsPath)).html).toContain('name="password"')
})

function cookieName(kind: string): string {
  return `agent_service_${kind}_${new URL(service.authUrl).port}`
}
