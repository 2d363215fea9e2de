import { inspect } from 'node:util'
import { type AgentApi, type AgentApiError, createAgentApi, isAgentApiError } from 'agent-auth/api'
import { describe, expect, it } from 'vitest'
import { apiFailure, envelope, wiredApi } from '../support/api-client.ts'
import { assertNoLeak, secret } from '../support/canary.ts'
import { scriptedFetch } from '../support/token-flow.ts'
import { endless, gzipBomb, redirect, respond, truncate } from '../support/wire.ts'

const requestId = 'req-0192f3a4-7c11'
const search = (api: AgentApi): Promise<unknown> => api.parentAgents.search({ limit: 5 })
const create = (api: AgentApi): Promise<unknown> =>
  api.parentAgents.create({ agent_name: 'a', description: 'b', parent_agent_type_key: 'assistant' })

describe('bodies of a success that are none', () => {
  const row = { id: 1, agent_name: 'One' }
  it.each<[string, string | object]>([
    ['an empty body', ''],
    ['HTML', '<!doctype html><title>Sign in to the network</title>'],
    ['half of an envelope', '{"success": true, "data": {"items": ['],
    ['success as text', { success: 'true', data: { items: [], count: 0 } }],
    ['success in a prototype', '{"__proto__": {"success": true, "data": {"items": [], "count": 0}}}'],
    ['no data', { success: true }],
    ['null as data', { success: true, data: null }],
    ['items that are no list', envelope({ items: { 0: row, length: 1 }, count: 1 })],
    ['items in a prototype', '{"success": true, "data": {"__proto__": {"items": [], "count": 0}}}'],
    ['a row that is no object', envelope({ items: [row, null], count: 2 })],
    ['a row without an id', envelope({ items: [{ agent_name: 'Two' }], count: 1 })],
    ['an id as text', envelope({ items: [{ id: '1' }], count: 1 })],
    ['a count that is no whole number', envelope({ items: [row], count: 1.5 })],
  ])('response_invalid for %s, with status and request id', async (_, body) => {
    const { api, wire } = await wiredApi(respond(200, { 'x-request-id': requestId }, body))
    const error = await apiFailure(search(api))
    expect(error).toMatchObject({ code: 'response_invalid', status: 200, requestId, retryable: false })
    expect(error.body).toBe(typeof body === 'string' ? body : JSON.stringify(body))
    expect(wire.requests).toHaveLength(1)
  })

  it('response_invalid for a 204, and after a create that the agent may exist', async () => {
    const { api } = await wiredApi(respond(204))
    expect(await apiFailure(search(api))).toMatchObject({ code: 'response_invalid', status: 204 })
    expect((await apiFailure(create(api))).message).toMatch(/may have been carried out\.$/)
  })

  it.each<[string, object]>([
    ['no list', { context_variables: 'none' }],
    ['null', { context_variables: null }],
  ])('response_invalid for context variables that are %s', async (_, data) => {
    const { api } = await wiredApi(respond(200, {}, envelope(data)))
    expect(await apiFailure(api.parentAgents.contextVariables(1))).toMatchObject({ code: 'response_invalid' })
  })

  it('passes on members that it does not know, also one named __proto__, and changes no prototype', async () => {
    const data = '{"items": [{"id": 1, "__proto__": {"polluted": 1}, "more": [2]}], "count": 1, "page": 7}'
    const { api } = await wiredApi(respond(200, {}, `{"success": true, "data": ${data}, "error_type": null}`))
    const found = await api.parentAgents.search()
    expect(JSON.stringify(found)).toBe(JSON.stringify(JSON.parse(data)))
    expect('polluted' in {}).toBe(false)
    expect((await api.parentAgents.contextVariables(1).catch(() => ({}))) as object).not.toHaveProperty('polluted')
  })
})

describe('refusals in any form', () => {
  const clientText = 'OAuth client is not approved for this API'
  it.each<[string, number, string | object, AgentApiError['code']]>([
    ['an empty body', 401, '', 'unauthenticated'],
    ['HTML', 401, '<h1>401</h1>', 'unauthenticated'],
    ['the text of the client alone', 403, clientText, 'client_not_approved'],
    [
      'the text of the client in the envelope',
      403,
      { success: false, error_message: clientText },
      'client_not_approved',
    ],
    ['the text of the permission in a list', 403, { errors: [{ text: 'Missing permission' }] }, 'permission_missing'],
    ['the page of a firewall', 403, '<h1>Request blocked</h1>', 'request_failed'],
    ['an empty body', 403, '', 'request_failed'],
    ['the text of the client', 409, clientText, 'request_failed'],
    ['the text of the permission', 200, { success: false, error_message: 'missing permission' }, 'request_failed'],
    ['an envelope', 404, { success: false, data: {}, error_type: 'not_found' }, 'request_failed'],
    ['success: true', 500, envelope({ items: [], count: 0 }), 'request_failed'],
    ['success: false', 200, { success: false, data: {}, error_type: 'billing' }, 'request_failed'],
  ])('%s with %i', async (_, status, body, code) => {
    const { api, wire } = await wiredApi(respond(status, { 'x-request-id': requestId }, body))
    const error = await apiFailure(search(api))
    expect(error).toMatchObject({ code, status, requestId, retryable: false })
    expect(error.response?.status).toBe(status)
    expect(wire.requests).toHaveLength(1)
  })

  it('keeps the faults that have the specified members, and drops the others', async () => {
    const good = { loc: ['body', 'filters', 0, 'column'], msg: 'not allowed', type: 'enum', input: 'x', ctx: { n: 1 } }
    const named = { loc: ['body', '__proto__'], msg: 'unknown', type: 'extra' }
    const whole = { loc: ['body'], msg: 'no JSON', type: 'json_invalid' }
    const bad = [null, 'text', {}, { ...good, loc: 'body' }, { ...good, loc: [{}] }, { ...good, msg: 1 }, { msg: 'a' }]
    const { api } = await wiredApi(
      respond(422, {}, { detail: [...bad, good, named, whole, { ...good, msg: 'again' }] }),
    )
    const error = await apiFailure(search(api))
    expect(error.faults).toEqual([good, named, whole, { ...good, msg: 'again' }])
    const fields = error.fieldErrors()
    expect(Object.entries(fields)).toEqual([
      ['filters.0.column', ['not allowed', 'again']],
      ['__proto__', ['unknown']],
      ['body', ['no JSON']],
    ])
    expect('constructor' in fields).toBe(false)
  })

  it('has no faults and no field errors without a 422', async () => {
    const { api } = await wiredApi(respond(400, {}, { detail: [{ loc: ['body'], msg: 'no', type: 'no' }] }))
    const error = await apiFailure(search(api))
    expect({ faults: error.faults, fields: Object.keys(error.fieldErrors()) }).toEqual({ faults: [], fields: [] })
  })
})

describe('bodies without an end', () => {
  it('response_too_large for 200 MB out of a small gzip, and the connection is closed', async () => {
    const { api, wire } = await wiredApi(gzipBomb(), { timeoutMs: 300_000 })
    const error = await apiFailure(search(api))
    expect(error).toMatchObject({ code: 'response_too_large', status: 200, retryable: false })
    expect({ body: error.body, status: error.response?.status }).toEqual({ body: undefined, status: 200 })
    await expect.poll(() => wire.connections.open).toBe(0)
  })

  it('response_too_large for an endless body, at the limit of the call', async () => {
    const { api, wire } = await wiredApi(endless())
    const error = await apiFailure(api.llmModels.search({}, { maxBytes: 50_000 }))
    expect(error).toMatchObject({ code: 'response_too_large' })
    await expect.poll(() => wire.connections.open).toBe(0)
  })

  it('a refusal keeps its code and loses its body where that has no end', async () => {
    const page = 'a'.repeat(1_100_000)
    const { api } = await wiredApi(respond(401, {}, page))
    const error = await apiFailure(search(api))
    expect({ code: error.code, status: error.status, body: error.body }).toEqual({
      code: 'unauthenticated',
      status: 401,
      body: undefined,
    })
  })
})

describe('connections that fail', () => {
  const body = JSON.stringify(envelope({ items: [], count: 0 }))

  it.each(['length', 'chunked'] as const)(
    'a %s body that breaks off: a read is repeated, and a creation is not',
    async (framing) => {
      const { api, wire } = await wiredApi(truncate(body, 20, framing, 'reset'), { maxRetries: 1 })
      expect(await apiFailure(search(api))).toMatchObject({ code: 'request_failed', status: 200, retryable: true })
      const error = await apiFailure(create(api))
      expect(error).toMatchObject({ code: 'request_failed', status: 200, retryable: false })
      expect(error.message).toMatch(/may have been carried out\.$/)
      expect(wire.requests).toHaveLength(3)
    },
  )

  it('a redirect is not followed: the other host gets no request', async () => {
    const { wire: elsewhere } = await wiredApi(respond(200, {}, body))
    const { api } = await wiredApi(redirect(307, `${elsewhere.url}/api/parent_agents/search`))
    const message = 'The API responded with 307. Redirects are not followed. Check baseUrl.'
    expect(await apiFailure(search(api))).toMatchObject({ code: 'request_failed', message, retryable: false })
    expect(elsewhere.requests).toEqual([])
  })

  it('a redirect that a page is not shown is named as one', async () => {
    const opaque = Object.defineProperties(Response.json({}), { status: { value: 0 }, ok: { value: false } })
    const api = createAgentApi({ baseUrl: 'https://api.demo.example', fetch: async () => opaque })
    const message = 'The API responded with a redirect. Redirects are not followed. Check baseUrl.'
    expect(await apiFailure(search(api))).toMatchObject({ code: 'request_failed', message })
  })
})

describe('what an error shows', () => {
  it('neither the token nor any of the body, however it is printed', async () => {
    const hidden = secret('value that the API repeats')
    const faulty = { loc: ['body', hidden], msg: hidden, type: hidden, input: hidden }
    const headers = { 'x-request-id': hidden, 'retry-after': hidden, 'www-authenticate': hidden }
    for (const status of [200, 401, 403, 404, 422, 500]) {
      const answered = { success: false, error_type: hidden, error_message: hidden, detail: [faulty] }
      const { api, token } = await wiredApi(respond(status, headers, answered))
      const error = await apiFailure(search(api))
      assertNoLeak(error)
      expect(Object.keys(error)).toEqual(['code', 'retryable', 'status'])
      expect(inspect(error, { showHidden: true })).not.toContain(token)
      expect({ type: error.errorType, message: error.errorMessage, isInBody: error.body?.includes(hidden) }).toEqual({
        type: hidden,
        message: hidden,
        isInBody: true,
      })
    }
  })

  it('nothing of the reason of a failed fetch', async () => {
    const hidden = secret('value in a platform error')
    const reason = Object.assign(new TypeError(`invalid header ${hidden}`), { cause: { code: hidden } })
    const api = createAgentApi({
      baseUrl: 'https://api.example.com',
      fetch: scriptedFetch(reason).fetch,
      maxRetries: 0,
    })
    const error = await apiFailure(search(api))
    assertNoLeak(error)
    expect({ message: error.message, cause: error.cause }).toEqual({
      message: 'https://api.example.com gave no response. Check that it runs, and baseUrl. Try again later.',
      cause: undefined,
    })
  })

  it('is known by its marker, and messages are short', async () => {
    const { api } = await wiredApi(respond(403, {}, 'missing permission'))
    const error = await apiFailure(create(api))
    expect({
      apiError: isAgentApiError(error),
      otherError: isAgentApiError(new Error('no')),
      nothing: isAgentApiError(null),
    }).toEqual({ apiError: true, otherError: false, nothing: false })
    expect(error.message.length).toBeLessThan(160)
  })
})
