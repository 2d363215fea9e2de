// @module-tag database

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { rawDatabase } from '../../src/store/database.ts'
import {
  agentSearch,
  authorize,
  authorizeUrl,
  Browser,
  callApi,
  clientOf,
  clientsPath,
  consentPath,
  exchange,
  login,
  type Page,
  personOf,
  refresh,
  signInPath,
} from '../support/login.ts'
import { assemble, isOnPostgres } from '../support/start.ts'
import { observe, type Statement } from '../support/statements.ts'

// Each handler does its work by statements. Each statement in turn fails, before it is done and after.

let assembly: Assembly
let service: Service
let fault: { at: number; when: 'before' | 'after' } | undefined
let statements = 0
/** Some run side by side, so that they end in another order. */
const order = new WeakMap<Statement, number>()
const cause = 'the disk of secret-host-7 is on fire'

beforeAll(async () => {
  assembly = await assemble({})
  service = assembly.service
  // A minute later a request would clean up, by statements of its own.
  service.dev.freeze()
  observe(assembly, {
    before(statement) {
      statements += 1
      order.set(statement, statements)
      if (fault?.when === 'before' && fault.at === statements) throw new Error(cause)
    },
    after(statement) {
      if (fault?.when === 'after' && fault.at === order.get(statement)) throw new Error(cause)
    },
  })
})
afterAll(() => service.close())

interface Answered {
  status: number
  text: string
}
/** Sets the stage, and returns what is to be tried under faults. */
type Scene = () => Promise<() => Promise<Answered>>

const read = async (answer: Response): Promise<Answered> => ({ status: answer.status, text: await answer.text() })
const readPage = ({ status, html }: Page): Answered => ({ status, text: html })
/** A redirect to the application is what success looks like here. */
const readRedirect = (page: Page): Answered => {
  return { ...readPage(page), status: page.next === undefined ? page.status : 200 }
}
async function atSignIn(): Promise<{ browser: Browser; page: Page; fields: Record<string, string> }> {
  const browser = new Browser(service.fetch)
  const { email, password } = personOf(service, 'ada')
  return { browser, page: await browser.get(authorizeUrl(service).url), fields: { email, password } }
}

async function asAdmin(): Promise<{ browser: Browser; password: string }> {
  const browser = new Browser(service.fetch)
  const { email, password } = personOf(service, 'ada')
  const page = await browser.get(service.authUrl + clientsPath)
  await browser.submit(page, `${clientsPath}/sign-in`, { email, password })
  return { browser, password }
}

const confidential = () => clientOf(service, 'Demo confidential')
const bearer = () => service.dev.mintSessionToken('ada@demo.example')
const api =
  (path: string, body?: () => unknown): Scene =>
  async () => {
    const token = await bearer()
    const sent = body?.()
    return async () => read(await callApi(service, { token, path, body: sent }))
  }
let agents = 0

const scenes: Record<string, Scene> = {
  authorize: async () => async () => readPage(await new Browser(service.fetch).get(authorizeUrl(service).url)),
  'sign in': async () => {
    const { browser, page, fields } = await atSignIn()
    return async () => readPage(await browser.submit(page, signInPath, fields))
  },
  'sign out': async () => {
    const { browser, page, fields } = await atSignIn()
    const consent = await browser.submit(page, signInPath, fields)
    return async () => readPage(await browser.submit(consent, '/auth/v1/sign-out', {}))
  },
  approve: async () => {
    const { browser, page, fields } = await atSignIn()
    const consent = await browser.submit(page, signInPath, fields)
    return async () => readRedirect(await browser.submit(consent, consentPath, { decision: 'approve' }))
  },
  deny: async () => {
    const { browser, page, fields } = await atSignIn()
    const consent = await browser.submit(page, signInPath, fields)
    return async () => readRedirect(await browser.submit(consent, consentPath, { decision: 'deny' }))
  },
  'approve at once': async () => async () => {
    service.dev.autoApprove('ada@demo.example')
    const page = await new Browser(service.fetch).get(authorizeUrl(service).url)
    service.dev.autoApprove(undefined)
    return readRedirect(page)
  },
  'exchange, public': async () => {
    const callback = await authorize(service)
    return async () => read(await exchange(service, callback))
  },
  'exchange, confidential': async () => {
    const callback = await authorize(service, { client: confidential(), pkce: 'without' })
    return async () => read(await exchange(service, callback))
  },
  refresh: async () => {
    const { refresh_token } = await login(service)
    return async () => read(await refresh(service, clientOf(service, 'Demo public'), refresh_token))
  },
  'refresh, confidential': async () => {
    const { refresh_token } = await login(service, { client: confidential() })
    return async () => read(await refresh(service, confidential(), refresh_token))
  },
  'call with an access token': async () => {
    const token = (await login(service)).access_token
    return async () => read(await callApi(service, { token, path: agentSearch, body: {} }))
  },
  'search agents': api(agentSearch, () => ({ search_value: 'a', sort: { column: 'id' } })),
  'search models': api('/api/llm_models/search', () => ({})),
  'context variables': api('/api/parent_agents/1/state_function/context_variables'),
  'create an agent': api('/api/parent_agents', () => {
    agents += 1
    return { agent_name: `Fault ${agents}`, description: 'x', parent_agent_type: 'x' }
  }),
  'list clients': async () => {
    const { browser } = await asAdmin()
    return async () => readPage(await browser.get(service.authUrl + clientsPath))
  },
  'register a client': async () => {
    const { browser, password } = await asAdmin()
    const form = await browser.get(`${service.authUrl}${clientsPath}/new`)
    const fields = { name: 'Mine', kind: 'confidential', redirect_uris: 'https://mine.example/cb', password }
    return async () => readPage(await browser.submit(form, clientsPath, fields))
  },
}

/** What can be tried again and again on one stage, because it uses nothing up. */
const repeatable = [
  ...['authorize', 'call with an access token', 'search agents', 'search models', 'context variables'],
  ...['list clients', 'register a client'],
]

/** What may never stand alone, whatever failed. */
async function expectNothingHalfDone(): Promise<void> {
  const db = rawDatabase(assembly.context.store.db)
  const lonely = async (table: 'parent_agents' | 'grants' | 'clients', child: string, key: string) => {
    const children = await db
      .selectFrom(child as 'refresh_tokens')
      .select(key as 'grant_id')
      .execute()
    const known = new Set(children.map((row) => (row as Record<string, unknown>)[key]))
    const rows = await db.selectFrom(table).select('id').execute()
    return rows.filter(({ id }) => !known.has(id))
  }
  expect(await lonely('parent_agents', 'context_groups', 'agent_id')).toEqual([])
  expect(await lonely('grants', 'refresh_tokens', 'grant_id')).toEqual([])
  expect(await lonely('grants', 'access_tokens', 'grant_id')).toEqual([])
  // One live leaf for each family, neither none nor two.
  const leaves = await db.selectFrom('refresh_tokens').select('grant_id').where('used_ms', 'is', null).execute()
  const families = await db.selectFrom('grants').select('id').where('revoked_ms', 'is', null).execute()
  expect(leaves.map(({ grant_id }) => grant_id).sort()).toEqual(families.map(({ id }) => id).sort())
  expect(await lonely('clients', 'client_redirect_uris', 'client_id')).toEqual([])
  expect(await lonely('clients', 'client_approvals', 'client_id')).toEqual([])
}

/** One scene for each kind of write. On libSQL all scenes run. */
const writing = ['approve', 'exchange, public', 'refresh', 'create an agent', 'register a client']

test.each(isOnPostgres() ? writing : Object.keys(scenes))(
  '%s: whichever statement fails, a 500 with an id, and the next try succeeds',
  async (name) => {
    const prepare = scenes[name] as Scene
    const count = async (run: () => Promise<Answered>): Promise<number> => {
      statements = 0
      expect((await run()).status).toBe(200)
      return statements
    }
    const first = await prepare()
    const total = await count(first)
    expect(total).toBeGreaterThan(0)
    for (const when of ['before', 'after'] as const) {
      for (let at = 1; at <= total; at += 1) {
        for (const throttle of Object.values(assembly.context.throttles)) throttle.clear()
        const run = repeatable.includes(name) ? first : await prepare()
        statements = 0
        fault = { at, when }
        const { status, text } = await run()
        fault = undefined
        expect(status, `${when} statement ${at} of ${total}`).toBe(500)
        expect(text).toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/)
        expect(text).not.toContain('secret-host')
        expect((await run()).status, `after a fault ${when} statement ${at}`).toBe(200)
      }
    }
    await expectNothingHalfDone()
  },
)

test('when hashing or signing fails it is the same 500, and nothing is used up', async () => {
  const { context } = assembly
  const original = { passwords: context.passwords, keys: context.keys }
  const { browser, page, fields } = await atSignIn()
  Object.assign(context, {
    passwords: { ...context.passwords, verify: () => Promise.reject(new Error(cause)) },
  })
  const failed = await browser.submit(page, signInPath, fields)
  expect({ status: failed.status, hasCause: failed.html.includes('secret-host') }).toEqual({
    status: 500,
    hasCause: false,
  })
  Object.assign(context, original)
  expect((await browser.submit(page, signInPath, fields)).status).toBe(200)

  const callback = await authorize(service)
  Object.assign(context, { keys: { ...context.keys, signingKey: context.keys.verifyKey } })
  expect((await exchange(service, callback)).status).toBe(500)
  Object.assign(context, original)
  const answer = await exchange(service, callback)
  expect(answer.status).toBe(200)
  const { refresh_token } = (await answer.json()) as { refresh_token: string }
  Object.assign(context, { keys: { ...context.keys, signingKey: context.keys.verifyKey } })
  expect((await refresh(service, clientOf(service, 'Demo public'), refresh_token)).status).toBe(500)
  Object.assign(context, original)
  expect((await refresh(service, clientOf(service, 'Demo public'), refresh_token)).status).toBe(200)
})
