import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import type { Service, ServiceOptions } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import {
  authorize,
  authorizeUrl,
  Browser,
  clientOf,
  codeCount,
  consentPath,
  type LoginOptions,
  type Page,
  personOf,
  signInAs,
  signInPath,
} from '../support/login.ts'
import { assemble } from '../support/start.ts'

let assembly: Assembly
let service: Service
let browser: Browser
beforeAll(async () => use(await assemble({})))
beforeEach(() => {
  browser = new Browser(service.fetch)
})
afterAll(() => service.close())

const signIn = (options: LoginOptions = {}): Promise<Page> => signInAs('ada', { service, browser, options })

/** The parameters a refused request comes back with. */
async function refusal(parameters: Record<string, string | undefined>, suffix = '', name = 'Demo public') {
  const client = clientOf(service, name)
  const { url } = authorizeUrl(service, { client, parameters })
  const first = await browser.get(url + suffix)
  expect({ status: first.status, next: first.next }).toEqual({ status: 200, next: undefined })
  const { email, password } = personOf(service, 'ada')
  const page = await browser.submit(first, signInPath, { email, password })
  expect(page.next, page.html).toBeDefined()
  return Object.fromEntries(new URL(page.next ?? '').searchParams)
}

test.each([
  ['missing client_id', { client_id: undefined }, ''],
  ['unknown client_id', { client_id: 'app_0' }, ''],
  ['repeated client_id', {}, '&client_id=app_0'],
  ['missing redirect_uri', { redirect_uri: undefined }, ''],
  ['foreign redirect_uri', { redirect_uri: 'https://evil.example/' }, ''],
  ['repeated redirect_uri', {}, '&redirect_uri=https://evil.example/'],
  ['foreign redirect_uri and a wrong scope', { redirect_uri: 'https://evil.example/', scope: 'x' }, ''],
])('%s: a page with 400 and no redirect', async (_, parameters, suffix) => {
  const page = await browser.get(authorizeUrl(service, { parameters }).url + suffix)
  expect({ status: page.status, next: page.next }).toEqual({ status: 400, next: undefined })
  expect(page.response.headers.get('content-type')).toContain('text/html')
})

/** What the page with 400 says as text; it has no link. */
/** What the page says happened, and after that what to do. */
async function problem(parameters: Record<string, string>, suffix = '', name = 'Demo public'): Promise<string[]> {
  const { url } = authorizeUrl(service, { client: clientOf(service, name), parameters })
  const page = await browser.get(url + suffix)
  expect({ status: page.status, next: page.next, hasLink: page.html.includes('<a ') }).toStrictEqual({
    status: 400,
    next: undefined,
    hasLink: false,
  })
  const said = page.html.slice(page.html.indexOf('<p role="alert">'))
  return [...said.matchAll(/<p[^>]*>([^<]*)/g)].map(([, text = '']) => text)
}

const isNotRegistered = 'is not registered for this application.'
const register = (uri: string) => [
  `To register it, call startService with redirectUris, or start agent-service with --redirect-uri ${uri}`,
  `If the service keeps its data, register a client at ${service.authUrl}/auth/v1/clients instead.`,
]

function use(next: Assembly): void {
  assembly = next
  service = assembly.service
  browser = new Browser(service.fetch)
}

/** Gives the test that runs a service of its own. */
async function useOwn(options: ServiceOptions = {}): Promise<void> {
  const shared = assembly
  use(await assemble(options))
  onTestFinished(async () => {
    await service.close()
    use(shared)
  })
}

test.each([
  ['http://localhost:5173/callback', 'Open the application at http://127.0.0.1:5173 instead.'],
  ['http://LOCALHOST/cb', 'Open the application at http://127.0.0.1 instead.'],
  ['http://app.example/cb', 'Use https, or http on 127.0.0.1 or [::1], without fragment, userinfo or wildcard.'],
])('%s is shown as text, with the way out', async (redirect_uri, fix) => {
  expect(await problem({ redirect_uri })).toEqual([`The redirect_uri ${redirect_uri} ${isNotRegistered}`, fix])
})

test.each([
  ['Demo public', 'a public client (for pages and apps; on loopback every port matches)'],
  ['Demo confidential', 'a confidential client (for a backend)'],
])('with dev controls, the redirect URIs that are registered for %s are shown', async (name, kind) => {
  await useOwn({ dev: 'on' })
  const uri = 'https://app.example/cb'
  const registered = clientOf(service, name).redirectUris.join(', ')
  const known = `The client_id is of ${name}, ${kind}. Registered for it: ${registered}`
  expect(await problem({ redirect_uri: uri }, '', name)).toEqual([
    `The redirect_uri ${uri} ${isNotRegistered}`,
    known,
    ...register(uri),
  ])
})

test.each([
  ['http://127.0.0.1:34221/cb?a=1', "'http://127.0.0.1/cb?a=1'"],
  ['http://[::1]:34221', "'http://[::1]'"],
  ['http://127.0.0.1/cb', 'http://127.0.0.1/cb'],
])('%s of a public client is suggested without its port', async (uri, registered) => {
  await useOwn({ dev: 'on' })
  const said = (await problem({ redirect_uri: uri }, '', 'Demo public')).map(decoded)
  expect(said.slice(2)).toEqual(register(registered))
})

/** Returns the text that HTML shows. */
function decoded(html: string): string {
  return html.replaceAll('&#39;', "'").replaceAll('&amp;', '&')
}

test.each([
  ['http://127.0.0.1:3001/auth/callback', 'Demo confidential'],
  ['http://127.0.0.1:5174/callback', 'Demo confidential'],
  ['http://127.0.0.1:3000/auth/callback', 'Demo public'],
])('without dev controls, %s of the %s client is told nothing of the kind of a client', async (uri, name) => {
  expect(await problem({ redirect_uri: uri }, '', name)).toEqual([
    `The redirect_uri ${uri} ${isNotRegistered}`,
    ...register(uri),
  ])
})

test('markup in a return address is text', async () => {
  const redirect_uri = 'https://localhost:5173/"><b>&'
  const escaped = 'https://localhost:5173/&quot;&gt;&lt;b&gt;&amp;'
  expect(await problem({ redirect_uri })).toEqual([
    `The redirect_uri ${escaped} ${isNotRegistered}`,
    ...register(`&#39;${escaped}&#39;`),
  ])
})

const unshown = [`The redirect_uri ${isNotRegistered}`, 'Send one redirect_uri, exactly as it is registered.']
test.each([
  'javascript:alert(1)',
  'http://ada:hidden@localhost:5173/',
  'http://:hidden@localhost:5173/',
  'http://hidden@localhost:5173/',
  'http://localhost:x/',
  'http://localhost/\u202egro',
  'http://localhost/ Call us',
  `http://localhost/${'x'.repeat(184)}`,
])('%j is not shown', async (redirect_uri) => {
  expect(await problem({ redirect_uri })).toEqual(unshown)
})

test('an unknown client is told of new ids where the service is a developer’s', async () => {
  const unknown = 'Unknown client_id. The application that sent you here is not registered.'
  expect(await problem({ client_id: 'app_0' })).toEqual([unknown])
  await useOwn({ dev: 'on' })
  const hint =
    'Was this service restarted without --data, or with other data? Then copy the new .env block into your application.'
  expect(await problem({ client_id: 'app_0' })).toEqual([unknown, hint])
})

test.each([
  ['unknown response_type', { response_type: 'token' }, '', 'unsupported_response_type'],
  ['missing response_type', { response_type: undefined }, '', 'invalid_request'],
  ['more than 100 parameters', {}, '&a'.repeat(100), 'invalid_request'],
  ['missing scope', { scope: undefined }, '', 'invalid_scope'],
  ['empty scope', { scope: '' }, '', 'invalid_scope'],
  ['wider scope', { scope: 'api.access admin' }, '', 'invalid_scope'],
  ['scope in capitals', { scope: 'API.ACCESS' }, '', 'invalid_scope'],
  ['repeated scope', {}, '&scope=api.access', 'invalid_request'],
  ['repeated response_type', {}, '&response_type=code', 'invalid_request'],
  ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }, '', 'invalid_request'],
  ['method plain', { code_challenge_method: 'plain' }, '', 'invalid_request'],
  ['no method', { code_challenge_method: undefined }, '', 'invalid_request'],
  ['malformed challenge', { code_challenge: 'short' }, '', 'invalid_request'],
  ['repeated challenge', {}, `&code_challenge=${'a'.repeat(43)}`, 'invalid_request'],
  ['repeated method', {}, '&code_challenge_method=S256', 'invalid_request'],
])('%s goes back to the client after the sign-in', async (_, parameters, suffix, error) => {
  expect(await refusal(parameters, suffix)).toEqual({ error, state: 'state-1' })
  expect(await codeCount(assembly)).toBe(0)
})

test('a user who is signed in is sent back at once', async () => {
  await signIn()
  const page = await browser.get(authorizeUrl(service, { parameters: { scope: 'x' } }).url)
  expect({ status: page.status, next: page.next }).toEqual({
    status: 302,
    next: 'https://app.demo.example/callback?error=invalid_scope&state=state-1',
  })
})

test('a confidential client may leave PKCE out, but not half of it', async () => {
  expect(await refusal({ code_challenge: undefined }, '', 'Demo confidential')).toMatchObject({
    error: 'invalid_request',
  })
})

test.each(['code_challenge', 'code_challenge_method'])(
  'a %s that no database can hold is refused like any other',
  async (name) => {
    expect(await refusal({ [name]: '\0' })).toEqual({ error: 'invalid_request', state: 'state-1' })
  },
)

test('a repeated state is refused and not returned, an empty one counts as absent, foo is ignored', async () => {
  expect(await refusal({}, '&state=b')).toEqual({ error: 'invalid_request' })
  const { url } = await authorize(service, { state: '', parameters: { foo: 'bar' } })
  expect([...url.searchParams.keys()]).toEqual(['code'])
})

test('every byte of state comes back as it came and adds no parameter', async () => {
  const bytes = Array.from({ length: 256 }, (_, byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
  const state = `${bytes}%26code=evil%23x%0d%0aSet-Cookie:a`
  const { url } = authorizeUrl(service, { parameters: { state: undefined } })
  const { email, password } = personOf(service, 'ada')
  const signedIn = await browser.submit(await browser.get(`${url}&state=${state}`), signInPath, { email, password })
  const page = await browser.submit(signedIn, consentPath, { decision: 'approve' })
  const query = (page.next ?? '').split('?')[1]?.split('&') ?? []
  expect(query.map((pair) => pair.split('=')[0])).toEqual(['code', 'state'])
  const toBytes = (text: string) =>
    Buffer.from(
      text.replace(/%(..)/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    )
  expect(toBytes(query[1]?.slice('state='.length) ?? '').equals(toBytes(state))).toBe(true)
})

test('a parameter that the service does not know changes nothing, such as prompt=none', async () => {
  const url = `${authorizeUrl(service).url}&prompt=none&nonce=x&login_hint=ada%40demo.example&resource=x&prompt=login`
  expect((await browser.get(url)).html).toContain(signInPath)
  expect((await authorize(service, { parameters: { prompt: 'none' } })).code).toMatch(/^aac_/)
})

test('2,048 bytes of state are carried and 2,049 refused', async () => {
  const longest = 'x'.repeat(2_048)
  const { url } = await authorize(service, { state: longest })
  expect({ state: url.searchParams.get('state'), error: url.searchParams.get('error') }).toEqual({
    state: longest,
    error: null,
  })
  expect(await refusal({ state: `${longest}x` })).toMatchObject({ error: 'invalid_request' })
})

test.each([
  ['approve', /^https:\/\/app\.demo\.example\/callback\?code=[^&]+&state=state-1$/],
  ['deny', /^https:\/\/app\.demo\.example\/callback\?error=access_denied&state=state-1$/],
])('%s is a 303 to the redirect URI, which no cache keeps and no referrer follows', async (decision, url) => {
  const { response, html } = await browser.submit(await signIn(), consentPath, { decision })
  expect({ status: response.status, location: response.headers.get('location'), html }).toEqual({
    status: 303,
    location: expect.stringMatching(url),
    html: '',
  })
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('referrer-policy')).toBe('no-referrer')
})

test('a refusal found when approving is a 303, one found on the way to the pages a 302', async () => {
  await useOwn()
  const page = await signIn()
  await rawDatabase(assembly.context.store.db).updateTable('client_approvals').set({ active: 0 }).execute()
  const refused = await browser.submit(page, consentPath, { decision: 'approve' })
  const asked = await browser.get(authorizeUrl(service).url)
  for (const [status, { response }] of [
    [303, refused],
    [302, asked],
  ] as const) {
    expect({ status: response.status, location: response.headers.get('location') }).toEqual({
      status,
      location:
        'https://app.demo.example/callback?error=unauthorized_client&error_description=the+tenant+of+this+account+has+not+approved+the+client&state=state-1',
    })
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('referrer-policy')).toBe('no-referrer')
  }
})

test('what the sign-in form is refused for goes back by a page, because that form leads nowhere else', async () => {
  const page = await signIn({ parameters: { scope: 'x' } })
  expect({ status: page.status, location: page.response.headers.get('location') }).toEqual({
    status: 200,
    location: null,
  })
  expect(page.html).toMatch(/<meta http-equiv="refresh" content="0;url=https:\/\/app\.demo\.example\/callback\?error=/)
  expect(page.html).toMatch(/<a href="https:\/\/app\.demo\.example\/callback\?error=/)
})

test.each(['POST', 'PUT', 'DELETE', 'HEAD'])('%s on authorize is 405', async (method) => {
  const answer = await service.fetch(authorizeUrl(service).url, { method })
  expect({ status: answer.status, allow: answer.headers.get('allow') }).toEqual({ status: 405, allow: 'GET' })
})

test('a prefetch is refused, and a request with another Sec-Purpose gets the page without CORS headers', async () => {
  const { url } = authorizeUrl(service)
  const page = await browser.get(url, { 'sec-purpose': 'prefetch;prerender', origin: 'https://app.demo.example' })
  expect({ status: page.status, cookie: browser.cookie('browser') }).toStrictEqual({ status: 403, cookie: undefined })
  const shown = await browser.get(url, { 'sec-purpose': 'other', origin: 'https://app.demo.example' })
  const allowed = shown.response.headers.get('access-control-allow-origin')
  expect({ status: shown.status, allowed }).toEqual({ status: 200, allowed: null })
})

test('every page carries the strict headers and loads nothing', async () => {
  const consent = await signIn()
  const pages = [
    await browser.get(authorizeUrl(service, { parameters: { client_id: 'x' } }).url),
    await new Browser(service.fetch).get(authorizeUrl(service).url),
    consent,
    await browser.get(`${service.authUrl}/nowhere`),
  ]
  for (const { response, html } of pages) {
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    // Chromium holds every hop behind the consent form to form-action, also those of the application.
    expect(policy.includes("form-action 'self'")).toBe(html !== consent.html)
    expect(policy).not.toContain('unsafe')
    expect(response.headers.get('x-frame-options')).toBe('DENY')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(response.headers.get('referrer-policy')).toBe('no-referrer')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(html).not.toMatch(/<script|<img|<link|style=/)
  }
})
