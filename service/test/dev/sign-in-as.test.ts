import { expect, onTestFinished, test } from 'vitest'
import type { ServiceOptions } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import { authorizeUrl, Browser, consentPath, personOf } from '../support/login.ts'
import { assemble } from '../support/start.ts'

const path = '/auth/v1/sign-in-as'

async function started(options: ServiceOptions): Promise<Assembly & { browser: Browser }> {
  const assembly = await assemble(options)
  onTestFinished(assembly.service.close)
  return { ...assembly, browser: new Browser(assembly.service.fetch) }
}

test('with dev controls, one click on the sign-in page signs a user in, and consent follows', async () => {
  const { service, browser } = await started({ dev: 'on' })
  const page = await browser.get(authorizeUrl(service).url)
  for (const { email } of service.people) expect(page.html).toContain(`value="${email}"`)
  const consent = await browser.submit(page, path, { email: 'ada@demo.example' })
  expect({ status: consent.status, hasEmail: consent.html.includes('ada@demo.example') }).toEqual({
    status: 200,
    hasEmail: true,
  })
  const approved = await browser.submit(consent, consentPath, { decision: 'approve' })
  expect(new URL(approved.next ?? '').searchParams.has('code')).toBe(true)
  const events = service.dev.journal().flatMap((entry) => ('event' in entry ? [entry.event] : []))
  expect(events).toEqual(['sign_in_succeeded', 'consent_approved'])
})

test('without dev controls there is no such choice and no such endpoint', async () => {
  const { service, browser } = await started({})
  const page = await browser.get(authorizeUrl(service).url)
  expect(page.html).not.toContain('sign-in-as')
  const fields = { ...page.hidden('/auth/v1/sign-in'), email: 'ada@demo.example' }
  const answer = await browser.submit(page, path, fields)
  expect({ status: answer.status, session: browser.cookie('session') }).toStrictEqual({
    status: 404,
    session: undefined,
  })
})

test('a request that a proxy forwarded gets no choice, and cannot use it', async () => {
  const { service, browser } = await started({ dev: 'on' })
  const page = await browser.get(authorizeUrl(service).url)
  const body = new URLSearchParams({ ...page.hidden(path), email: 'ada@demo.example' })
  const headers = { 'x-forwarded-for': '192.0.2.1', cookie: `agent_service_browser_4001=${browser.cookie('browser')}` }
  const answer = await service.fetch(service.authUrl + path, { method: 'POST', headers, body })
  expect({ status: answer.status, cookies: answer.headers.getSetCookie() }).toEqual({ status: 403, cookies: [] })
  expect((await browser.get(authorizeUrl(service).url, { 'x-forwarded-for': '192.0.2.1' })).html).not.toContain(path)
})

test('the form of another browser, and one from another site, start no session', async () => {
  const { service, browser } = await started({ dev: 'on' })
  const page = await browser.get(authorizeUrl(service).url)
  const fields = { ...page.hidden(path), email: 'ada@demo.example' }
  const other = new Browser(service.fetch)
  expect((await other.submit(await other.get(authorizeUrl(service).url), path, fields)).status).toBe(400)
  const headers = { 'sec-fetch-site': 'cross-site', cookie: `agent_service_browser_4001=${browser.cookie('browser')}` }
  const init = { method: 'POST', headers, body: new URLSearchParams(fields) }
  expect((await service.fetch(service.authUrl + path, init)).status).toBe(403)
})

test('a disabled user is not offered and cannot be chosen, and neither can an unknown one', async () => {
  const { service, context, browser } = await started({ dev: 'on' })
  const { email } = personOf(service, 'rui')
  const db = rawDatabase(context.store.db)
  await db.updateTable('people').set({ active: 0 }).where('email', '=', email).execute()
  const page = await browser.get(authorizeUrl(service).url)
  expect(page.html).not.toContain(email)
  for (const refused of [email, 'none@demo.example', ''])
    expect((await browser.submit(page, path, { email: refused })).status).toBe(403)
  expect(browser.cookie('session')).toBeUndefined()
})
