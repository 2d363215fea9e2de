// @module-tag database

import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AccessChange, Service } from '../../src/index.ts'
import { authorize, clientOf, exchange, login, personOf, refresh } from '../support/login.ts'
import { createService } from '../support/start.ts'

interface Example {
  readonly title: string
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /** JSON, or the text itself. */
  readonly body?: unknown
  readonly headers?: Record<string, string>
  /** Default: of a person who may do everything. */
  readonly token?: 'none' | 'wrong' | 'reader'
  /** Set for this request alone. */
  readonly access?: AccessChange
}

const search = '/api/parent_agents/search'
const create = '/api/parent_agents'
const models = '/api/llm_models/search'
const variables = '/api/parent_agents/1/state_function/context_variables'
const agent = { agent_name: 'Contract reader', description: 'Reads contracts.', parent_agent_type: 'Custom Agent' }

const sections: [heading: string, examples: Example[]][] = [
  [
    'Search parent agents',
    [{ title: 'Found', method: 'POST', path: search, body: { limit: 1, offset: 0, search_value: 'invoice' } }],
  ],
  ['Create a parent agent', [{ title: 'Created', method: 'POST', path: create, body: agent }]],
  ['Context variables of a parent agent', [{ title: 'Found', method: 'GET', path: variables }]],
  ['Search LLM models', [{ title: 'Found', method: 'POST', path: models, body: { limit: 1, offset: 0 } }]],
  [
    'Refusals',
    [
      { title: '401: no credentials', method: 'POST', path: search, body: {}, token: 'none' },
      {
        title: '401: the access token is expired, revoked or unknown',
        method: 'POST',
        path: search,
        body: {},
        token: 'wrong',
      },
      { title: '403: the user lacks the permission', method: 'POST', path: create, body: agent, token: 'reader' },
      {
        title: '403: the client is not approved, is inactive, or lacks the surface of the API',
        method: 'POST',
        path: search,
        body: {},
        access: { approval: { 'Demo public': 'unapproved' } },
      },
      {
        title: '403: the billing of the tenant is inactive',
        method: 'POST',
        path: create,
        body: agent,
        access: { billing: { demo: 'inactive' } },
      },
      { title: '404: no such path', method: 'GET', path: '/api/nothing' },
      { title: '404: no such parent agent', method: 'GET', path: variables.replace('/1/', '/999999/') },
      { title: '405: another method', method: 'PUT', path: search, body: {} },
      {
        title: '413: the body is over 256 KiB',
        method: 'POST',
        path: search,
        body: { search_value: 'x'.repeat(300_000) },
      },
      {
        title: '415: no JSON media type',
        method: 'POST',
        path: search,
        body: 'limit=1',
        headers: { 'content-type': 'text/plain' },
      },
      { title: '422: the body is not JSON', method: 'POST', path: search, body: '{' },
      { title: '422: a value that is not allowed', method: 'POST', path: search, body: { limit: -1 } },
      { title: '422: members are missing', method: 'POST', path: create, body: {} },
      { title: '422: the name is taken', method: 'POST', path: create, body: agent },
    ],
  ],
]

let service: Service
let tokens: Record<'all' | 'reader', string>
beforeAll(async () => {
  service = await createService()
  const client = clientOf(service, 'Demo public')
  const readers = service.people.filter(
    ({ permissions }) => !permissions.includes('parent_agents.create') && permissions.includes('parent_agents.read'),
  )
  const [reader] = readers.filter(({ tenant }) => tenant === client.tenant)
  if (!reader) throw new Error('no demo user may only read')
  const all = await login(service, { client, person: personOf(service, 'ada') })
  tokens = { all: all.access_token, reader: (await login(service, { client, person: reader })).access_token }
})
afterAll(() => service.close())

function headersOf({ body, headers, token }: Example): Record<string, string> {
  const bearer = { none: undefined, wrong: 'wrong', reader: tokens.reader, all: tokens.all }[token ?? 'all']
  return {
    ...(bearer && { authorization: `Bearer ${bearer}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...headers,
  }
}

/** Both messages as they went over the wire, with the token, the long body and the times shortened. */
async function exchanged(example: Example): Promise<string> {
  const { method, path, body } = example
  const headers = headersOf(example)
  const text = typeof body === 'string' || body === undefined ? (body ?? null) : JSON.stringify(body)
  if (example.access) await service.dev.setAccess(example.access)
  const response = await service.fetch(service.baseUrl + path, { method, headers, body: text as string | null })
  if (example.access)
    await service.dev.setAccess({ approval: { 'Demo public': 'approved' }, billing: { demo: 'active' } })
  const shown = Object.entries(headers).map(([name, value]) => `${name}: ${value.replace(/^Bearer .*/, 'Bearer …')}`)
  const answered = shownHeaders(response)
  const request = [`${method} ${path}`, ...shown, ...(text ? ['', text.length > 1_000 ? '…' : text] : [])]
  const answer = [`${response.status}`, ...answered, '', plain(await response.json())]
  return [`### ${example.title}`, fence('http', request), fence('http', answer)].join('\n\n')
}

const exchangeRequest = [
  'POST /auth/v1/token?grant_type=authorization_code',
  'content-type: application/x-www-form-urlencoded',
  '',
  'code=…&redirect_uri=…&client_id=…&code_verifier=…',
]

function refreshRequest(more = ''): string[] {
  const line = 'POST /auth/v1/token?grant_type=refresh_token'
  return [line, 'content-type: application/json', '', `{"refresh_token":"…","client_id":"…"${more}}`]
}

/** The token endpoint of a public client; a confidential one authenticates by HTTP Basic instead of `client_id`. */
async function tokenExamples(): Promise<string[]> {
  const client = clientOf(service, 'Demo public')
  const callback = await authorize(service)
  const first = await exchange(service, callback)
  const granted = await first.clone().json()
  const withWider = { scope: 'api.access admin' }
  return Promise.all([
    tokenExample('Exchange of a code', exchangeRequest, first),
    tokenExample('Refresh', refreshRequest(), await refresh(service, client, granted.refresh_token)),
    tokenExample(
      '400: the code is used, expired or unknown',
      exchangeRequest,
      await exchange(service, { ...callback, code: 'unknown' }),
    ),
    tokenExample(
      '400: the refresh token is expired, revoked or unknown',
      refreshRequest(),
      await refresh(service, client, 'unknown'),
    ),
    tokenExample(
      '400: a scope that was not granted',
      refreshRequest(',"scope":"api.access admin"'),
      await refresh(service, client, (await login(service)).refresh_token, withWider),
    ),
    tokenExample(
      '401: the client is unknown or does not authenticate',
      refreshRequest(),
      await refresh(service, { ...client, clientId: 'unknown' }, 'unknown'),
    ),
  ])
}

async function tokenExample(title: string, request: readonly string[], response: Response): Promise<string> {
  const text = plain(await response.json()).replace(/("\w+_token": ")[^"]+/g, '$1…')
  return [
    `### ${title}`,
    fence('http', request),
    fence('http', [String(response.status), ...shownHeaders(response), '', text]),
  ].join('\n\n')
}

function shownHeaders({ headers }: Response): string[] {
  return ['content-type', 'www-authenticate', 'allow'].flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [`${name}: ${value}`]
  })
}

function plain(answer: unknown): string {
  return JSON.stringify(answer, null, 2).replace(/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, '2026-01-01T00:00:00Z')
}

function fence(language: string, lines: readonly string[]): string {
  return [`\`\`\`${language}`, ...lines, '```'].join('\n')
}

test('each kind of answer and refusal is, byte for byte, the one that was recorded', async () => {
  const parts: string[] = []
  for (const [heading, examples] of sections) {
    parts.push(`## ${heading}\n`)
    for (const example of examples) parts.push(`${await exchanged(example)}\n`)
  }
  parts.push('## Token endpoint\n', ...(await tokenExamples()).map((example) => `${example}\n`))
  await expect(`${parts.join('\n').trimEnd()}\n`).toMatchFileSnapshot('./responses.snapshot.txt')
})
