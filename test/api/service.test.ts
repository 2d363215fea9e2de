import { createAuthConfig, createBearerFetch, createSession } from 'agent-auth'
import { type AgentApi, type CallOptions, createAgentApi } from 'agent-auth/api'
import { createService, type Service } from 'agent-service'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createReader } from '../../docs/snippets/api-client/create.ts'
import { clientOf } from '../../service/test/support/login.ts'
import { apiFailure, sessionAt } from '../support/api-client.ts'
import { failure } from '../support/token-flow.ts'

let service: Service
let sent: { url: URL; authorization: string | null; body: string }[] = []
/** The API of `ada`, over a session that can refresh. */
let api: AgentApi

const recorded: typeof fetch = async (input, init) => {
  const request = new Request(input, init)
  const authorization = request.headers.get('authorization')
  sent.push({ url: new URL(request.url), authorization, body: await request.clone().text() })
  return service.fetch(request)
}

beforeAll(async () => {
  service = await createService()
  api = await apiOf('ada')
})
beforeEach(() => {
  sent = []
})
afterAll(() => service.close())

async function apiOf(name: string): Promise<AgentApi> {
  const { baseUrl } = service
  const session = await sessionAt(service, name)
  return createAgentApi({ baseUrl, fetch: createBearerFetch(session, { baseUrl, fetch: recorded }) })
}

const newAgent = { agent_name: 'Contract Reader', description: 'Reads contracts.', parent_agent_type: 'Custom Agent' }

describe('the endpoints', () => {
  it('search resolves to the rows of one page and their count', async () => {
    const { items, count } = await api.parentAgents.search({ limit: 2, offset: 1, search_value: 'reader' })
    expect({ isWithinLimit: items.length <= 2, isWithinCount: count >= items.length }).toEqual({
      isWithinLimit: true,
      isWithinCount: true,
    })
    expect(JSON.parse(sent[0]?.body ?? '')).toEqual({ limit: 2, offset: 1, search_value: 'reader' })
    expect(sent[0]?.authorization).toMatch(/^Bearer ./)
    const { items: all } = await api.parentAgents.search()
    expect(all[0]).toMatchObject({ id: expect.any(Number), agent_name: expect.any(String), configs: {} })
  })

  it('active and provider become filters on the specified columns, beside the filters given', async () => {
    const filters = [{ column: 'agent_key', operator: 'equals', value: 'invoice_reader' }] as const
    const { items } = await api.parentAgents.search({ limit: 5, active: true, filters })
    expect(items.map(({ agent_key }) => agent_key)).toEqual(['invoice_reader'])
    expect(JSON.parse(sent[0]?.body ?? '')).toEqual({
      limit: 5,
      filters: [...filters, { column: 'active', operator: 'equals', value: true }],
    })
    const models = await api.llmModels.search({ provider: 'northlight', sort: { column: 'model_name', desc: true } })
    expect(new Set(models.items.map(({ provider }) => provider))).toEqual(new Set(['northlight']))
    expect(JSON.parse(sent[1]?.body ?? '')).toEqual({
      sort: { column: 'model_name', desc: true },
      filters: [{ column: 'provider', operator: 'equals', value: 'northlight' }],
    })
  })

  it('searchAll yields every agent once, in pages, and knows their total', async () => {
    const agents = api.parentAgents.searchAll({ limit: 7 })
    const total = await agents.total()
    const ids: number[] = []
    for await (const { id } of agents) ids.push(id)
    expect(ids.length).toBe(total)
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
    expect(sent.map(({ body }) => JSON.parse(body))).toEqual(
      Array.from({ length: Math.ceil(total / 7) }, (_, page) => ({
        limit: 7,
        offset: page * 7,
        sort: { column: 'id', desc: false },
      })),
    )
    const models: string[] = []
    for await (const { model_name } of api.llmModels.searchAll()) models.push(model_name)
    expect(models.length).toBe((await api.llmModels.search()).count)
  })

  it('create resolves to the new agent, and its context variables can be read', async () => {
    const { items } = await api.parentAgents.create({ ...newAgent, active: false })
    expect(items).toMatchObject([{ agent_key: 'contract_reader', active: false }])
    const { context_variables: groups = [] } = await api.parentAgents.contextVariables(items[0]?.id ?? 0)
    expect(groups[0]).toMatchObject({ key: 'runtime_input', variables: [{ insert_value: 'runtime_input.message' }] })
  })

  it('docs/api-client.md: the example of a creation creates an agent', async () => {
    const id = await createReader(api)
    expect(id).toEqual(expect.any(Number))
    const { items } = await api.parentAgents.search({ search_value: 'Invoice checker' })
    expect(items.map((agent) => agent.id)).toEqual([id])
  })

  it('request sends what the specification only names, with the same header, envelope and errors', async () => {
    const found = await api.request<{ count: number }>('POST', '/api/llm_models/search', { limit: 1 })
    expect(found.count).toBeGreaterThan(1)
    expect(await apiFailure(api.request('GET', '/api/tools'))).toMatchObject({ code: 'request_failed', status: 404 })
    expect(sent.map(({ authorization }) => authorization !== null)).toEqual([true, true])
  })

  it.each(['api/tools', '//../../x', '/../x', '@evil.example/x', 'https://evil.example/', '.evil.example/x', ''])(
    'request refuses the path %j and sends nothing',
    async (path) => {
      const under = createAgentApi({ baseUrl: `${service.baseUrl}/v1`, fetch: recorded })
      expect(await failure(under.request('GET', path))).toMatchObject({ code: 'config_invalid' })
      expect(sent).toEqual([])
    },
  )

  it.each<[string, unknown, CallOptions | undefined]>([
    ['a body', { limit: 1 }, undefined],
    ['null as a body', null, undefined],
    ['extra members', undefined, { extraMembers: { limit: 1 } }],
  ])('request refuses a GET with %s and sends nothing', async (_, body, options) => {
    expect(await failure(api.request('GET', '/api/tools', body, options))).toMatchObject({
      code: 'config_invalid',
      message: 'Configuration: GET takes no body.',
    })
    expect(sent).toEqual([])
  })

  it('extra members reach the body, since the specification leaves names open', async () => {
    await api.parentAgents.search({ limit: 1, active: true }, { extraMembers: { active: false, page: 3 } })
    expect(JSON.parse(sent[0]?.body ?? '')).toMatchObject({ limit: 1, active: false, page: 3 })
  })
})

describe('refusals of the service', () => {
  it('unauthenticated: the API does not know the token, and nothing can refresh it', async () => {
    const { baseUrl } = service
    const old = createAgentApi({ baseUrl, fetch: createBearerFetch('unknown', { baseUrl, fetch: recorded }) })
    const error = await apiFailure(old.llmModels.search())
    expect(error).toMatchObject({ code: 'unauthenticated', status: 401, retryable: false })
    expect({ errorType: error.errorType, sentCount: sent.length }).toEqual({
      errorType: 'authentication_error',
      sentCount: 1,
    })
  })

  it('an expired access token is refreshed below the client, and a create arrives once', async () => {
    await service.dev.expireAccessTokens()
    const { items } = await api.parentAgents.create({ ...newAgent, agent_name: 'After expiry' })
    expect(items).toHaveLength(1)
    expect(sent.map(({ body }) => body)).toEqual([sent[0]?.body, sent[0]?.body])
    expect((await api.parentAgents.search({ search_value: 'After expiry' })).count).toBe(1)
  })

  it('permission_missing and client_not_approved, told apart by the texts of the specification', async () => {
    const reader = await apiOf('rui')
    expect(await apiFailure(reader.parentAgents.create(newAgent))).toMatchObject({
      code: 'permission_missing',
      status: 403,
      retryable: false,
    })
    await service.dev.setAccess({ approval: { 'Demo public': 'unapproved' } })
    expect(await apiFailure(reader.llmModels.search())).toMatchObject({ code: 'client_not_approved', status: 403 })
    await service.dev.setAccess({ approval: { 'Demo public': 'approved' } })
  })

  it('validation_failed with the list of faults, and their messages by field', async () => {
    const error = await apiFailure(api.parentAgents.create({ ...newAgent, agent_name: '', description: '' }))
    expect(error).toMatchObject({ code: 'validation_failed', status: 422, retryable: false })
    expect(error.faults[0]).toMatchObject({ loc: ['body', 'agent_name'], msg: expect.any(String), input: '' })
    expect(Object.keys(error.fieldErrors())).toEqual(['agent_name', 'description'])
    const nested = { filters: [{ column: 'nothing' as 'id', operator: 'equals', value: 1 }], limit: 251 }
    const { limit, 'filters.0.column': column } = (await apiFailure(api.parentAgents.search(nested))).fieldErrors()
    expect({ limitCount: limit?.length, columnCount: column?.length }).toEqual({ limitCount: 1, columnCount: 1 })
  })

  it('request_failed with the error_type and error_message of the envelope', async () => {
    const error = await apiFailure(api.parentAgents.contextVariables(999_999))
    expect(error).toMatchObject({ code: 'request_failed', status: 404, retryable: false })
    expect({ errorType: error.errorType, errorMessage: error.errorMessage }).toEqual({
      errorType: 'not_found',
      errorMessage: 'parent agent not found',
    })
    expect(error.response?.headers.get('content-type')).toMatch(/json/)
    expect(JSON.parse(error.body ?? '')).toMatchObject({ success: false })
  })

  it('what the session rejects with comes through as it is', async () => {
    const config = createAuthConfig({
      authUrl: service.authUrl,
      baseUrl: service.baseUrl,
      clientId: clientOf(service, 'Demo public').clientId,
      redirectUri: 'https://app.demo.example/callback',
    })
    const { baseUrl } = service
    const bearer = createBearerFetch(createSession(config), { baseUrl, fetch: recorded })
    const signedOut = createAgentApi({ baseUrl, fetch: bearer })
    expect(await failure(signedOut.llmModels.search())).toMatchObject({ code: 'login_required' })
    expect(sent).toEqual([])
  })
})
