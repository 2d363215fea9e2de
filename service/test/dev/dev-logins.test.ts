import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import { authorizeUrl, Browser, clientOf, exchange, personOf, refresh } from '../support/login.ts'
import { assemble, createService } from '../support/start.ts'

let service: Service
let developer: Browser
beforeEach(async () => {
  service = await createService({ dev: 'on' })
  developer = new Browser(service.fetch)
})
afterEach(() => service.close())

const view = (path: string) => developer.get(`${service.authUrl}/_dev${path}`)
const plain = (html: string): string => html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
const rowsOf = (html: string): string[] =>
  [...html.matchAll(/<tr>([\s\S]*?)<\/tr>/g)].slice(1).map(([, row = '']) => plain(row))

/** Signs in by the pages with a wrong password first, exchanges the code and refreshes. Returns every secret of it. */
async function loginByPages(name = 'ada'): Promise<string[]> {
  const client = clientOf(service, 'Demo public')
  const browser = new Browser(service.fetch)
  const started = authorizeUrl(service, { client })
  const asked = await browser.get(started.url)
  const { email, password } = personOf(service, name)
  const wrong = await browser.submit(asked, '/auth/v1/sign-in', { email, password: 'a wrong password' })
  const consent = await browser.submit(wrong, '/auth/v1/sign-in', { email, password })
  const approved = await browser.submit(consent, '/auth/v1/consent', { decision: 'approve' })
  const url = new URL(approved.response.headers.get('location') ?? '')
  const code = url.searchParams.get('code') ?? ''
  const response = await exchange(service, { ...started, url, code, client })
  const first = (await response.json()) as Record<string, string>
  const second = (await (await refresh(service, client, first.refresh_token ?? '')).json()) as Record<string, string>
  const query = new URL(started.url).searchParams
  const pageTokens = [asked.hidden('/auth/v1/sign-in').request, consent.hidden('/auth/v1/consent').request]
  const tokens = [first, second].flatMap(({ access_token, refresh_token }) => [access_token, refresh_token])
  const secrets = [
    code,
    started.verifier,
    query.get('code_challenge'),
    password,
    'a wrong password',
    ...pageTokens,
    ...tokens,
  ]
  return secrets.map((secret) => secret ?? 'missing')
}

test('the dev page lists each login, and its page shows request by request what was sent where', async () => {
  await loginByPages()
  expect(plain((await view('')).html)).toMatch(
    /Login 1, [\d:.]+ Demo public ada@demo.example Authorize 200, Sign in 403, Sign in 200, Consent 303, Exchange 200, Refresh 200 /,
  )
  const { html, status, response } = await view('/logins/1')
  expect({ status, cacheControl: response.headers.get('cache-control') }).toEqual({
    status: 200,
    cacheControl: 'no-store',
  })
  const fp = '#[0-9a-f]{8}'
  const client = clientOf(service, 'Demo public').clientId
  const rows = rowsOf(html).map((row) => row.trim())
  const redirect = 'https://app\\.demo\\.example/callback'
  const expected = [
    `Authorize GET /auth/v1/authorize [\\d:.]+ response_type code client_id ${client} redirect_uri ${redirect} scope api\\.access state ${fp} code_challenge_method S256 code_challenge ${fp} 200 page Sign in`,
    'Sign in POST /auth/v1/sign-in [\\d:.]+ password not shown 403 page Sign in',
    'Sign in POST /auth/v1/sign-in [\\d:.]+ password not shown 200 page Allow access\\?',
    `Consent POST /auth/v1/consent [\\d:.]+ decision approve 303 redirect to ${redirect} code ${fp} state ${fp}`,
    `Exchange POST /auth/v1/token [\\d:.]+ grant_type authorization_code client_id ${client} redirect_uri ${redirect} code ${fp} code_verifier ${fp}, S256 ${fp} 200 access_token ${fp} token_type Bearer refresh_token ${fp} scope api\\.access`,
    `Refresh POST /auth/v1/token [\\d:.]+ grant_type refresh_token client_id ${client} refresh_token ${fp} 200 access_token ${fp} token_type Bearer refresh_token ${fp} scope api\\.access`,
  ]
  expect(rows.length).toBe(expected.length)
  for (const [index, pattern] of expected.entries()) expect(rows[index]).toMatch(new RegExp(`^${pattern} `))
})

/** The logins that the dev page lists, newest first, without their times. */
async function listed(): Promise<string[]> {
  const list = (await view('')).html.split('id="logins"')[1]?.split('<h2>')[0] ?? ''
  return rowsOf(list).map((row) => row.replace(/^ | [\d:.]{12}| $/g, ''))
}

test('a sign-in form that is sent too late is listed under its login, whose page shows the redirect URI', async () => {
  const browser = new Browser(service.fetch)
  const page = await browser.get(authorizeUrl(service).url)
  service.dev.advance(10 * 60_000)
  const { email, password } = personOf(service, 'ada')
  await browser.submit(page, '/auth/v1/sign-in', { email, password })
  expect(await listed()).toEqual(['Login 1, Demo public Authorize 200, Sign in 400'])
  const shown = plain((await view('/logins/1')).html)
  expect(shown).toContain(' redirect_uri https://app.demo.example/callback scope ')
})

test('the consent of a user who was signed in already belongs to its login', async () => {
  const browser = new Browser(service.fetch)
  const { email, password } = personOf(service, 'ada')
  await browser.submit(await browser.get(authorizeUrl(service).url), '/auth/v1/sign-in', { email, password })
  const consent = await browser.get(authorizeUrl(service).url)
  await browser.submit(consent, '/auth/v1/consent', { decision: 'deny' })
  expect(await listed()).toEqual([
    'Login 2, Demo public ada@demo.example Authorize 200, Consent 303',
    'Login 1, Demo public ada@demo.example Authorize 200, Sign in 200',
  ])
})

test('equal fingerprints on the page of a login are the same secret, and two logins share none', async () => {
  await loginByPages()
  await loginByPages()
  const fingerprintOf = (row: string | undefined, name: string): string | undefined =>
    new RegExp(`(?:^| )${name} (#[0-9a-f]{8})`).exec(row ?? '')?.[1]
  const read = async (id: number) => rowsOf((await view(`/logins/${id}`)).html)
  const [authorized, , , approved, exchanged, refreshed] = await read(1)
  expect(fingerprintOf(approved, 'state')).toBe(fingerprintOf(authorized, 'state'))
  expect(fingerprintOf(exchanged, 'code')).toBe(fingerprintOf(approved, 'code'))
  expect(fingerprintOf(exchanged, 'S256')).toBe(fingerprintOf(authorized, 'code_challenge'))
  expect(fingerprintOf(refreshed, 'refresh_token')).toBe(fingerprintOf(exchanged, 'refresh_token'))
  const [, , , otherApproved] = await read(2)
  expect(fingerprintOf(otherApproved, 'code')).not.toBe(fingerprintOf(approved, 'code'))
})

test('no page about logins holds a code, token, verifier, challenge or password of a login', async () => {
  const secrets = await loginByPages('rui')
  await service.fetch(
    `${service.authUrl}/auth/v1/authorize?client_id=pasted-secret&redirect_uri=https://x.example/pasted-secret`,
  )
  const known = personOf(service, 'rui').password
  const pages = [(await view('/logins/1')).html, (await view('/logins/2')).html]
  const [list = ''] = (await view('')).html.split('<h2>People</h2>')
  for (const secret of [...secrets, 'pasted-secret']) {
    expect(secret.length).toBeGreaterThan(8)
    for (const page of [...pages, list]) expect(page.includes(secret)).toBe(false)
  }
  expect(secrets).toContain(known)
})

test('a fault is one button away on the page of a login, which then shows the requests that it hit', async () => {
  const secrets = await loginByPages()
  const button = await developer.submit(await view('/logins/1'), '/_dev/do', {
    action: 'add-fault',
    effect: 'status 503',
    path: '/auth/v1/token',
    times: '1',
    login: '1',
  })
  expect({ status: button.status, next: button.next }).toEqual({ status: 303, next: '/_dev/logins/1?done=add-fault' })
  expect((await view('/logins/1?done=add-fault')).html).toContain('<p role="status">The fault was added.</p>')
  const client = clientOf(service, 'Demo public')
  const token = secrets.at(-1) ?? ''
  expect((await refresh(service, client, token)).status).toBe(503)
  service.dev.addFault({ match: { path: '/auth/v1/token' }, effect: 'drop-after-commit', times: 1 })
  await expect(refresh(service, client, token)).rejects.toMatchObject({ cause: { code: 'ECONNRESET' } })
  service.dev.advance(60_000)
  expect((await refresh(service, client, token)).status).toBe(400)
  const shown = plain((await view('/logins/1')).html)
  const sent = 'Refresh POST /auth/v1/token [\\d:.]+ grant_type refresh_token client_id app_\\w+ refresh_token #\\w{8}'
  expect(shown).toMatch(new RegExp(`${sent} 503, fault: status 503 `))
  expect(shown).toMatch(new RegExp(`${sent} 200, fault: drop-after-commit access_token #`))
  expect(shown).toMatch(new RegExp(`${sent} 400 error invalid_grant `))
  expect((await view('/logins/9')).status).toBe(404)
})

test('the dev page shows the requests and events of one client and one person', async () => {
  await loginByPages('ada')
  await loginByPages('rui')
  const { clientId } = clientOf(service, 'Demo public')
  const requests = async (query: string) => {
    const part = (await view(`?${query}`)).html.split('id="requests"')[1]?.split('<h2>')[0] ?? ''
    return rowsOf(part)
  }
  const all = await requests('')
  const rui = await requests(`client=${clientId}&person=rui@demo.example`)
  expect(rui.length).toBeGreaterThan(3)
  expect(rui.length).toBeLessThan(all.length)
  expect(rui.filter((row) => !row.includes('rui@demo.example') || !row.includes(clientId))).toEqual([])
  expect(rui.filter((row) => row.includes('/auth/v1/token')).length).toBe(2)
  expect(await requests(`client=${clientOf(service, 'Other public').clientId}`)).toEqual([])
  expect((await view(`?person=rui@demo.example`)).html).toMatch(/value="rui@demo.example" selected/)
})

test('the dev page keeps 20 logins, a reset removes them, and without dev controls none is kept', async () => {
  const browser = new Browser(service.fetch)
  for (let index = 0; index < 21; index += 1) await browser.get(authorizeUrl(service).url)
  const links = () =>
    view('').then(({ html }) => [...html.matchAll(/href="\/_dev\/logins\/(\d+)"/g)].map(([, id]) => id))
  expect(await links()).toEqual(Array.from({ length: 20 }, (_, index) => String(21 - index)))
  await service.dev.reset()
  expect(await links()).toEqual([])
  const off = await assemble({})
  await new Browser(off.service.fetch).get(authorizeUrl(off.service).url)
  expect(off.context.logins.list()).toEqual([])
  await off.service.close()
})
