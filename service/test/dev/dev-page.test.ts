import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import { hashOf } from '../../src/ui/style.ts'
import { agentSearch, authorizeUrl, Browser, callApi, clientOf, login, refresh } from '../support/login.ts'
import { createService, startService } from '../support/start.ts'

let service: Service
let browser: Browser
beforeEach(async () => {
  service = await createService({ dev: 'on' })
  browser = new Browser(service.fetch)
})
afterEach(() => service.close())

const page = () => browser.get(`${service.authUrl}/_dev`)

async function press(action: string, fields: Record<string, string> = {}) {
  return browser.submit(await page(), '/_dev/do', { action, ...fields })
}

test('the dev page shows people, clients and the journal, with the strict headers and one script by its hash', async () => {
  const tokens = await login(service)
  const { html, status, response } = await page()
  expect({ status, cacheControl: response.headers.get('cache-control') }).toEqual({
    status: 200,
    cacheControl: 'no-store',
  })
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
  for (const { email, password } of service.people) for (const text of [email, password]) expect(html).toContain(text)
  for (const { name, clientId } of service.clients) for (const text of [name, clientId]) expect(html).toContain(text)
  const rows = html.replace(/<[^>]+>/g, ' ').replace(/ +/g, ' ')
  expect(rows).toContain(`auth POST /auth/v1/token authorization_code 200 ${clientOf(service, 'Demo public').clientId}`)
  expect(html).toContain('consent_approved')
  expect(html).toContain('Each can sign in to the clients of the same tenant only.')
  for (const text of [tokens.access_token, tokens.refresh_token]) expect(html).not.toContain(text)
  const scripts = [...html.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)].map(([, text = '']) => hashOf(text))
  const allowed = /script-src ([^;]*)/.exec(response.headers.get('content-security-policy') ?? '')?.[1]
  expect({ scripts: scripts.length, hashes: scripts.join(' ') }).toEqual({ scripts: 1, hashes: allowed })
  expect((await browser.get(authorizeUrl(service).url)).response.headers.get('content-security-policy')).not.toContain(
    'script-src',
  )
})

test('every button of the dev page does what the control does', async () => {
  const client = clientOf(service, 'Demo public')
  const tokens = await login(service, { client })
  const status = async (token: string) => (await callApi(service, { token, path: agentSearch, body: {} })).status
  const beforeMs = service.dev.nowMs()
  expect((await press('advance', { minutes: '1' })).next).toBe('/_dev?done=advance')
  expect(service.dev.nowMs() - beforeMs).toBeGreaterThanOrEqual(60_000)
  await press('freeze')
  const frozenMs = service.dev.nowMs()
  expect((await page()).html).toContain(', frozen')
  await press('advance', { minutes: '2' })
  expect({ nowMs: service.dev.nowMs(), clock: service.dev.clockState() }).toEqual({
    nowMs: frozenMs + 120_000,
    clock: 'frozen',
  })
  await press('unfreeze')
  expect(service.dev.clockState()).toBe('running')
  expect((await press('expire')).status).toBe(303)
  expect(await status(tokens.access_token)).toBe(401)
  await press('revoke')
  expect((await refresh(service, client, tokens.refresh_token)).status).toBe(400)
  const minted = await press('session-token', { email: 'ada@demo.example' })
  expect(await status(/Session token: (ast_[\w-]+)/.exec(minted.html)?.[1] ?? '')).toBe(200)
  await press('add-fault', { effect: 'status 503', path: agentSearch, times: '1' })
  expect({ first: await status('x'), second: await status('x') }).toEqual({ first: 503, second: 401 })
  await press('add-fault', { effect: 'status 500', times: '9' })
  expect((await page()).html).toContain('status 500 on every path (9 left)')
  await press('clear-faults')
  expect(await status('x')).toBe(401)
  await press('auto-approve', { email: 'ada@demo.example' })
  expect((await browser.get(authorizeUrl(service).url)).status).toBe(302)
  expect((await page()).html).toMatch(/<dt>Automatic approval<\/dt><dd><bdi>ada@demo.example/)
  await press('auto-approve', { email: '' })
  expect((await browser.get(authorizeUrl(service).url)).status).toBe(200)
  await press('reset')
  expect(service.dev.journal().filter((entry) => entry.kind === 'event')).toEqual([])
})

test.each([
  ['advance', { minutes: '-1' }],
  ['advance', { minutes: 'x' }],
  ['advance', { minutes: '9000000000' }],
  ['session-token', { email: 'nobody@demo.example' }],
  ['auto-approve', { email: 'nobody@demo.example' }],
  ['add-fault', { effect: 'explode' }],
  ['add-fault', { effect: 'reset', times: '0' }],
  ['add-fault', { effect: 'reset', path: 'x' }],
  ['constructor', {}],
  ['', {}],
])('the dev page refuses %s %j', async (action, fields) => {
  expect((await press(action, fields)).status).toBe(422)
})

test('the buttons of the dev page set each refusal of the API and take it back', async () => {
  const { access_token: token } = await login(service)
  const body = () => ({ agent_name: crypto.randomUUID(), description: 'x', parent_agent_type: 'x' })
  const status = async () => (await callApi(service, { token, path: '/api/parent_agents', body: body() })).status
  for (const [off, on, name] of [
    ['billing-inactive', 'billing-active', 'demo'],
    ['client-unapproved', 'client-approved', 'Demo public'],
    ['client-no-api', 'client-api', 'Demo public'],
  ] as const) {
    expect((await press(off, { name })).next).toBe(`/_dev?done=${off}`)
    expect({ off, status: await status() }).toEqual({ off, status: 403 })
    await press(on, { name })
    expect({ on, status: await status() }).toEqual({ on, status: 200 })
  }
  await press('billing-inactive', { name: 'demo' })
  await press('endpoint-unbilled', { name: 'createParentAgent' })
  expect(await status()).toBe(200)
  await press('endpoint-billed', { name: 'createParentAgent' })
  expect(await status()).toBe(403)
  await press('billing-active', { name: 'demo' })
  await press('permissions', { name: 'ada@demo.example', permissions: 'api.access parent_agents.read' })
  expect(await status()).toBe(403)
  const refused = await press('permissions', { name: 'ada@demo.example', permissions: 'all' })
  expect({
    status: refused.status,
    hasMessage: refused.html.includes('must be api.access, parent_agents.read, '),
  }).toEqual({ status: 422, hasMessage: true })
})

test('the dev page takes forms of its own only, and is not there without dev', async () => {
  const body = async () =>
    new URLSearchParams({ action: 'expire', token: (await page()).hidden('/_dev/do').token ?? '' })
  const send = async (headers: Record<string, string>) => {
    const url = `${service.authUrl}/_dev/do`
    return (await service.fetch(url, { method: 'POST', headers, body: await body(), redirect: 'manual' })).status
  }
  // What a browser sends from a page without referrer.
  expect(await send({ origin: 'null', 'sec-fetch-site': 'same-origin' })).toBe(303)
  expect(await send({ origin: 'null', 'sec-fetch-site': 'cross-site' })).toBe(403)
  expect(await send({ origin: 'null' })).toBe(403)
  expect(await send({ origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' })).toBe(403)
  expect((await browser.submit(await page(), '/_dev/do', { action: 'expire', token: 'x' })).status).toBe(403)
  const plain = await createService()
  for (const path of ['/_dev', '/_dev/do']) expect((await plain.fetch(plain.authUrl + path)).status).toBe(404)
  await plain.close()
})

test.each([
  ['GET', '/_dev'],
  ['POST', '/_dev/clock'],
  ['DELETE', '/_dev/faults'],
])('without dev controls, %s %s says that they are off and how to turn them on', async (method, path) => {
  const plain = await createService()
  const response = await plain.fetch(plain.authUrl + path, { method })
  await plain.close()
  const error = "the dev controls are off; start agent-service with --dev, or startService with dev: 'on'"
  expect({ status: response.status, body: await response.json() }).toEqual({ status: 404, body: { error } })
  expect(response.headers.get('cache-control')).toBe('no-store')
})

test('the dev page answers over sockets, and looking at it leaves no trace in the journal', async () => {
  const listening = await startService({ dev: 'on' })
  expect((await fetch(`${listening.authUrl}/_dev`)).status).toBe(200)
  expect(listening.dev.journal()).toEqual([])
  await listening.close()
})

test('a control says what it did, and a link cannot make the page say anything else', async () => {
  const said = async (done: string) =>
    /<p role="status">([^<]*)/.exec((await browser.get(`${service.authUrl}/_dev?done=${done}`)).html)?.[1]
  expect(await said('freeze')).toBe('The clock is stopped.')
  for (const name of ['', 'constructor', '<b>x</b>', 'Session+token']) expect(await said(name)).toBeUndefined()
})

test('/_dev/clock freezes, runs and advances, and /_dev/state says how things stand', async () => {
  const send = async (body: unknown) => {
    const headers = { 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await service.fetch(`${service.authUrl}/_dev/clock`, init)
    return { status: response.status, body: (await response.json()) as { nowMs: number; clock: string } }
  }
  const state = async () =>
    (await (await service.fetch(`${service.authUrl}/_dev/state`)).json()) as Record<string, unknown>
  const frozen = await send({ state: 'frozen' })
  expect(frozen).toEqual({ status: 200, body: { nowMs: service.dev.nowMs(), clock: 'frozen' } })
  expect((await send({ advanceMs: 5 })).body).toEqual({ nowMs: frozen.body.nowMs + 5, clock: 'frozen' })
  service.dev.autoApprove('ada@demo.example')
  service.dev.addFault({ effect: 'reset', times: 2 })
  expect(await state()).toMatchObject({
    nowMs: frozen.body.nowMs + 5,
    clock: 'frozen',
    autoApprove: 'ada@demo.example',
    faults: [{ effect: 'reset', times: 2 }],
  })
  expect((await send({ state: 'running', advanceMs: 5 })).body.clock).toBe('running')
  for (const body of [
    {},
    { state: 'slow' },
    { advanceMs: -1 },
    { advanceMs: 1, more: 1 },
    { advanceMs: 2 ** 53 - 1 },
  ]) {
    expect({ body, status: (await send(body)).status }).toEqual({ body, status: 422 })
  }
  service.dev.clearFaults()
  service.dev.autoApprove(undefined)
  expect(await state()).toMatchObject({ clock: 'running', autoApprove: null, faults: [] })
})
