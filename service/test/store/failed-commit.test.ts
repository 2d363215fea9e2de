// @module-tag database

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Service } from '../../src/index.ts'
import type { Assembly } from '../../src/server/create-service.ts'
import { failCommits, rowsOf, type written } from '../support/failed-commit.ts'
import {
  agentSearch,
  authorize,
  authorizeUrl,
  Browser,
  callApi,
  clientOf,
  consentPath,
  exchange,
  login,
  personOf,
  refresh,
  signInPath,
  type TokenAnswer,
} from '../support/login.ts'
import { assemble, isOnPostgres } from '../support/start.ts'
import { observe } from '../support/statements.ts'

let assembly: Assembly
let service: Service
/** How many statements began, and how many ended well. */
let statements = { begun: 0, done: 0 }
beforeEach(async () => {
  assembly = await assemble({})
  service = assembly.service
  // A minute later a request would clean up, by statements of its own.
  service.dev.freeze()
  statements = { begun: 0, done: 0 }
  const count = (what: keyof typeof statements) => () => {
    statements[what] += 1
  }
  observe(assembly, { before: count('begun'), after: count('done') })
})
const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0)) await step()
  await service.close()
})

/** Until the test ends, or until what this returns is called. */
async function failing(
  ...[table, state]: [table: Scene['table'], state?: string | undefined]
): Promise<() => Promise<void>> {
  const mend = await failCommits(assembly, table, state)
  undo.push(mend)
  return mend
}

interface Scene {
  /** What its transaction writes to. */
  readonly table: (typeof written)[number]
  /** The status once commits work again. */
  readonly success: 200 | 303
  /** Sets the stage, and returns what is to be tried. */
  readonly prepare: () => Promise<() => Promise<{ status: number; text: string; retryAfter: string | null }>>
  /** What a caller gets with the number of the event, and what when the database could not. */
  readonly failed: RegExp
  readonly unavailable: RegExp
}

const read = async (answer: Response) => {
  return { status: answer.status, text: await answer.text(), retryAfter: answer.headers.get('retry-after') }
}
const id = '[0-9a-f]{8}-[0-9a-f-]{27}'
const oauth = {
  failed: new RegExp(`^\\{"error":"server_error","error_description":"unexpected error ${id}"\\}$`),
  unavailable: /^\{"error":"temporarily_unavailable"/,
}
const page = { failed: new RegExp(`<title>[^<]*</title>[^]*${id}`), unavailable: /cannot reach its data/ }
const agent = { agent_name: 'Commit', description: 'x', parent_agent_type: 'x' }

const scenes: Record<string, Scene> = {
  'code exchange': {
    table: 'grants',
    success: 200,
    ...oauth,
    prepare: async () => {
      const callback = await authorize(service)
      return async () => read(await exchange(service, callback))
    },
  },
  refresh: {
    table: 'refresh_tokens',
    success: 200,
    ...oauth,
    prepare: async () => {
      const { refresh_token } = await login(service)
      return async () => read(await refresh(service, clientOf(service, 'Demo public'), refresh_token))
    },
  },
  consent: {
    table: 'authorization_codes',
    success: 303,
    ...page,
    prepare: async () => {
      const browser = new Browser(service.fetch)
      const { email, password } = personOf(service, 'ada')
      const form = await browser.submit(await browser.get(authorizeUrl(service).url), signInPath, { email, password })
      return async () => {
        const { status, html, response } = await browser.submit(form, consentPath, { decision: 'approve' })
        return { status, text: html, retryAfter: response.headers.get('retry-after') }
      }
    },
  },
  'create parent agent': {
    table: 'context_groups',
    success: 200,
    failed: new RegExp(`"success":false[^]*"error_type":"server_error"[^]*${id}|${id}[^]*"error_type":"server_error"`),
    unavailable: /"error_type":"service_unavailable"/,
    prepare: async () => {
      const { access_token: token } = await login(service)
      return async () => read(await callApi(service, { token, path: '/api/parent_agents', body: agent }))
    },
  },
}

/** Tries while commits fail and after, looks at the tables between, and returns what was answered in the meantime. */
async function tried({ table, success, prepare }: Scene, state?: string): Promise<Awaited<ReturnType<typeof read>>> {
  const run = await prepare()
  const before = await rowsOf(assembly)
  const mend = await failing(table, state)
  statements = { begun: 0, done: 0 }
  const answers = [await run(), await run()]
  // It was the commit and nothing before it.
  expect(statements.done).toBeGreaterThan(1)
  expect(statements.begun).toBe(statements.done)
  expect(await rowsOf(assembly)).toEqual(before)
  // What does not write there goes on beside it.
  const token = await service.dev.mintSessionToken('ada@demo.example')
  expect((await callApi(service, { token, path: agentSearch, body: {} })).status).toBe(200)
  await mend()
  expect((await run()).status).toBe(success)
  expect(await rowsOf(assembly)).not.toEqual(before)
  const [first, second] = answers
  expect(second?.status).toBe(first?.status)
  expect(JSON.stringify(answers)).not.toContain('secret-host')
  return first as Awaited<ReturnType<typeof read>>
}

describe.each(Object.entries(scenes))('%s', (name, scene) => {
  test('a commit that fails is a 500 with an id, changes nothing, and the same request succeeds later', async () => {
    const { status, text, retryAfter } = await tried(scene)
    expect({ status, retryAfter }).toEqual({ status: 500, retryAfter: null })
    expect(text).toMatch(scene.failed)
  })

  // Only PostgreSQL tells why.
  if (!isOnPostgres()) return

  test('a commit that loses against another transaction is tried again', async () => {
    const run = await scene.prepare()
    const before = await rowsOf(assembly)
    const mend = await failing(scene.table, '40001')
    expect((await run()).status).toBe(scene.success)
    const now = await rowsOf(assembly)
    await mend()
    // Done once, not twice.
    const grown = (now[scene.table] ?? []).filter((row) => !before[scene.table]?.includes(row))
    expect(grown.length).toBe(name === 'refresh' ? 2 : 1)
  })
})

test('after a refresh whose commit failed the family lives on: the next rotation counts, no replay is seen', async () => {
  const client = clientOf(service, 'Demo public')
  const first = await login(service)
  const mend = await failing('refresh_tokens')
  for (let turn = 0; turn < 3; turn += 1) expect((await refresh(service, client, first.refresh_token)).status).toBe(500)
  await mend()
  const second = (await (await refresh(service, client, first.refresh_token)).json()) as TokenAnswer
  const third = (await (await refresh(service, client, second.refresh_token)).json()) as TokenAnswer
  expect((await callApi(service, { token: third.access_token, path: agentSearch, body: {} })).status).toBe(200)
})
