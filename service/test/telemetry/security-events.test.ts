import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { EventEntry, Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import {
  agentSearch,
  authorize,
  authorizeUrl,
  Browser,
  basic,
  callApi,
  clientOf,
  clientsPath,
  exchange,
  login,
  personOf,
  refresh,
  signInPath,
} from '../support/login.ts'
import { oneAssembly } from '../support/one-service.ts'
import { assemble } from '../support/start.ts'
import { observe } from '../support/statements.ts'

let assembly: Assembly
let service: Service
const fresh = oneAssembly()
beforeEach(async () => {
  assembly = await fresh()
  service = assembly.service
})

/** What was recorded while it ran. */
async function recorded(run: () => Promise<unknown>): Promise<EventEntry[]> {
  const isEvent = (entry: object): entry is EventEntry => 'event' in entry
  const before = service.dev.journal().filter(isEvent).length
  await run()
  return service.dev.journal().filter(isEvent).slice(before)
}

async function trySignIn(email: string, password: string): Promise<Browser> {
  const browser = new Browser(service.fetch)
  await browser.submit(await browser.get(authorizeUrl(service).url), signInPath, { email, password })
  return browser
}

const ada = { personId: expect.stringMatching(/^person_/), tenant: 'demo' }
const clientId = expect.stringMatching(/^app_/)
const ofClient = { clientId, tenant: 'demo' }
const publicClient = () => clientOf(service, 'Demo public')
const confidential = () => clientOf(service, 'Demo confidential')

/** Prepares, and returns the one step whose records are looked at. */
type Occasion = () => Promise<() => Promise<unknown>>

const table: [what: string, occasion: Occasion, expected: object[]][] = [
  [
    'a sign-in',
    async () => () => trySignIn('ada@demo.example', personOf(service, 'ada').password),
    [{ event: 'sign_in_succeeded', ...ada }],
  ],
  [
    'a wrong password',
    async () => () => trySignIn('ada@demo.example', 'wrong-password'),
    [{ event: 'sign_in_failed', ...ada }],
  ],
  [
    'an unknown person',
    async () => () => trySignIn('nobody@demo.example', 'wrong-password'),
    [{ event: 'sign_in_failed' }],
  ],
  [
    'approval',
    async () => {
      const browser = await trySignIn('ada@demo.example', personOf(service, 'ada').password)
      return () => authorize(service, { browser })
    },
    [{ event: 'consent_approved', clientId, ...ada }],
  ],
  [
    'denial',
    async () => {
      const browser = await trySignIn('ada@demo.example', personOf(service, 'ada').password)
      return () => authorize(service, { browser, decision: 'deny' })
    },
    [{ event: 'consent_denied', clientId, ...ada }],
  ],
  [
    'approval without pages',
    async () => async () => {
      service.dev.autoApprove('ada@demo.example')
      await service.fetch(authorizeUrl(service).url)
    },
    [{ event: 'consent_approved', clientId, ...ada }],
  ],
  [
    'the replay of a code',
    async () => {
      const callback = await authorize(service)
      await exchange(service, callback)
      return () => exchange(service, callback)
    },
    [{ event: 'code_replayed', clientId, ...ada }],
  ],
  [
    'the reuse of a refresh token',
    async () => {
      const { refresh_token } = await login(service)
      await refresh(service, publicClient(), refresh_token)
      service.dev.advance(31_000)
      return () => refresh(service, publicClient(), refresh_token)
    },
    [{ event: 'refresh_token_reused', clientId, ...ada }],
  ],
  [
    'a wrong client secret',
    async () => () => refresh(service, { ...confidential(), clientSecret: 'x' }, 'x'),
    [{ event: 'client_authentication_failed', ...ofClient }],
  ],
  [
    'an unknown client',
    async () => () => refresh(service, { ...confidential(), clientId: 'app_0' }, 'x'),
    [{ event: 'client_authentication_failed' }],
  ],
  [
    'a confidential client without credentials',
    async () => () => refresh(service, { ...confidential(), kind: 'public' }, 'x'),
    [{ event: 'client_authentication_failed', ...ofClient }],
  ],
  [
    'a malformed Basic header',
    async () => () =>
      service.fetch(`${service.authUrl}/auth/v1/token?grant_type=refresh_token`, {
        method: 'POST',
        headers: { authorization: `${basic(confidential())}!`, 'content-type': 'application/json' },
        body: '{"refresh_token":"x"}',
      }),
    [{ event: 'client_authentication_failed' }],
  ],
  [
    'a call without the permission',
    async () => {
      const token = (await login(service, { person: personOf(service, 'gil') })).access_token
      return () => callApi(service, { token, path: agentSearch, body: {} })
    },
    [{ event: 'access_forbidden', clientId, ...ada }],
  ],
  [
    'a call by a session token without the permission',
    async () => {
      const token = await service.dev.mintSessionToken('gil@demo.example')
      return () => callApi(service, { token, path: agentSearch, body: {} })
    },
    [{ event: 'access_forbidden', ...ada }],
  ],
  [
    'a person who may not manage clients',
    async () => {
      const browser = await trySignIn('rui@demo.example', personOf(service, 'rui').password)
      return () => browser.get(service.authUrl + clientsPath)
    },
    [{ event: 'access_forbidden', ...ada }],
  ],
]

test.each(table)('%s is recorded exactly once, with time, id and who', async (_, occasion, expected) => {
  const step = await occasion()
  const startMs = service.dev.nowMs()
  const entries = await recorded(step)
  const own = { kind: 'event', id: expect.stringMatching(/^[0-9a-f-]{36}$/), atMs: expect.any(Number) }
  // Whole records: a member that nobody knows of would be a leak.
  expect(entries).toEqual(expected.map((record) => ({ ...own, ...record })))
  for (const { atMs } of entries) expect(atMs).toBeGreaterThanOrEqual(startMs)
  expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length)
})

test('a login and its calls record nothing but the sign-in and the consent', async () => {
  // A second use of a refresh token is no replay only for a while.
  service.dev.freeze()
  const entries = await recorded(async () => {
    const { access_token, refresh_token } = await login(service)
    await callApi(service, { token: access_token, path: agentSearch, body: {} })
    await refresh(service, publicClient(), refresh_token)
    await refresh(service, publicClient(), refresh_token)
  })
  expect(entries.map(({ event }) => event)).toEqual(['sign_in_succeeded', 'consent_approved'])
})

test('a replay whose transaction had to be run again is still one record', async () => {
  assembly = await assemble()
  service = assembly.service
  onTestFinished(service.close)
  const callback = await authorize(service)
  const tokens = (await (await exchange(service, callback)).json()) as { refresh_token: string }
  let conflicts = 0
  observe(assembly, {
    after({ sql }) {
      if (!sql.startsWith('update "grants" set "revoked_ms"') || conflicts === 1) return
      conflicts += 1
      throw Object.assign(new Error('could not serialize access'), { code: '40001' })
    },
  })
  const replayed = await recorded(() => exchange(service, callback))
  expect({ conflicts, events: replayed.map(({ event }) => event) }).toEqual({ conflicts: 1, events: ['code_replayed'] })
  expect((await refresh(service, publicClient(), tokens.refresh_token)).status).toBe(400)
})
