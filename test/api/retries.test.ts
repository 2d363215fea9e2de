import { AgentAuthError, createBearerFetch } from 'agent-auth'
import { type AgentApi, type AgentApiOptions, createAgentApi } from 'agent-auth/api'
import { describe, expect, it } from 'vitest'
import { apiFailure, envelope, wiredApi } from '../support/api-client.ts'
import { refusingOrigin } from '../support/free-port.ts'
import { failure, json, scriptedFetch } from '../support/token-flow.ts'
import { type VirtualTime, virtualTime } from '../support/virtual-time.ts'
import { reset, stall } from '../support/wire.ts'

const baseUrl = 'https://api.example.com'
const found = (): Response => json(envelope({ items: [], count: 0 }))
const newAgent = { agent_name: 'a', description: 'b', parent_agent_type_key: 'assistant' }

const reads: [string, (api: AgentApi) => Promise<unknown>][] = [
  ['search of agents', (api) => api.parentAgents.search()],
  ['search of models', (api) => api.llmModels.search()],
  ['read of context variables', (api) => api.parentAgents.contextVariables(1)],
  ['GET of its own', (api) => api.request('GET', '/api/tools')],
]
const writes: [string, (api: AgentApi) => Promise<unknown>][] = [
  ['create', (api) => api.parentAgents.create(newAgent)],
  ['POST of its own', (api) => api.request('POST', '/api/tools', {})],
  ['DELETE of its own', (api) => api.request('DELETE', '/api/tools/1')],
]

interface Rig {
  readonly api: AgentApi
  readonly time: VirtualTime
  /** When each request was sent, in milliseconds from the start. */
  readonly sentAtMs: number[]
}

function rig(
  answers: (Response | Error | (() => Response | Promise<Response>))[],
  options: Partial<AgentApiOptions> = {},
): Rig {
  const time = virtualTime()
  const { fetch: scripted } = scriptedFetch(...answers)
  const sentAtMs: number[] = []
  const fetch: typeof globalThis.fetch = (input, init) => {
    sentAtMs.push(time.nowMs())
    return scripted(input, init)
  }
  return { api: createAgentApi({ baseUrl, fetch, clock: time.clock, ...options }), time, sentAtMs }
}

function busy(retryAfter: string): Response {
  return new Response('{}', { status: 429, headers: { 'retry-after': retryAfter } })
}

function refused(code: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(`connect ${code}`), { code }) })
}

describe('what is sent again', () => {
  it.each(reads.flatMap(([name, read]) => [429, 502, 503, 504].map((status) => [name, status, read] as const)))(
    'a %s after %i, up to two times',
    async (_, status, read) => {
      const { api, time, sentAtMs } = rig([() => json({}, { status })])
      const error = await apiFailure(time.until(read(api)))
      expect(error).toMatchObject({ code: 'request_failed', status, retryable: true })
      expect(sentAtMs).toHaveLength(3)
    },
  )

  it.each(['ECONNREFUSED', 'ENOTFOUND', 'UND_ERR_CONNECT_TIMEOUT', 'ECONNRESET'])(
    'a search whose connection was never established, or broke: %s',
    async (code) => {
      const { api, time, sentAtMs } = rig([refused(code), refused(code), found])
      expect(await time.until(api.parentAgents.search())).toEqual({ items: [], count: 0 })
      expect(sentAtMs).toHaveLength(3)
    },
  )

  it('a search that a closed port refuses, on a real socket', async () => {
    const origin = await refusingOrigin()
    const api = createAgentApi({ baseUrl: origin, fetch: createBearerFetch('token', { baseUrl: origin }) })
    const error = await apiFailure(api.parentAgents.search({}, { maxRetries: 1, timeoutMs: 20_000 }))
    expect(error.message).toBe(
      `${origin} gave no response (ECONNREFUSED). Check that it runs, and baseUrl. Try again later.`,
    )
    // Not one byte has left: also a create may be repeated.
    expect(await apiFailure(api.parentAgents.create(newAgent))).toMatchObject({ retryable: true })
  })
})

describe('what is sent once', () => {
  it.each(writes.flatMap(([name, write]) => [429, 500, 502, 503, 504].map((status) => [name, status, write] as const)))(
    'a %s after %i',
    async (_, status, write) => {
      const { api, time, sentAtMs } = rig([() => json({}, { status })])
      const error = await apiFailure(time.until(write(api)))
      expect(error).toMatchObject({ code: 'request_failed', status, retryable: status === 429 })
      expect(/may have been carried out\.$/.test(error.message)).toBe(status !== 429)
      expect(sentAtMs).toHaveLength(1)
    },
  )

  it('a create whose connection is reset after the request was read arrives once', async () => {
    const { api, wire } = await wiredApi(reset('after reading'))
    const error = await apiFailure(api.parentAgents.create(newAgent))
    expect(error).toMatchObject({ code: 'request_failed', retryable: false })
    expect(error.message).toMatch(/may have been carried out\.$/)
    expect(wire.requests.map(({ body }) => JSON.parse(body))).toEqual([newAgent])
  })

  it.each([400, 401, 403, 404, 408, 409, 422, 500, 501])('a search after %i', async (status) => {
    const { api, time, sentAtMs } = rig([() => json({}, { status })])
    expect(await apiFailure(time.until(api.parentAgents.search()))).toMatchObject({ status, retryable: false })
    expect(sentAtMs).toHaveLength(1)
  })

  it('a call whose fetch rejects with an error of the library', async () => {
    const ended = new AgentAuthError('temporarily_unavailable', 'The token endpoint is away.', { retryable: true })
    const { api, time, sentAtMs } = rig([ended])
    expect(await failure(time.until(api.parentAgents.search()))).toBe(ended)
    expect(sentAtMs).toHaveLength(1)
  })

  it('a search with maxRetries 0, for the client or for the call', async () => {
    const { api, time, sentAtMs } = rig([() => json({}, { status: 503 })], { maxRetries: 0 })
    await apiFailure(time.until(api.parentAgents.search()))
    await apiFailure(time.until(api.parentAgents.search({}, { maxRetries: 1 })))
    expect(sentAtMs).toHaveLength(1 + 2)
  })
})

describe('when it is sent again', () => {
  it('waits with jitter, and longer each time', async () => {
    const firsts = new Set<number>()
    for (let round = 0; round < 20; round++) {
      const { api, time, sentAtMs } = rig([() => json({}, { status: 503 })])
      await apiFailure(time.until(api.parentAgents.search()))
      const [first = 0, second = 0, third = 0] = sentAtMs
      firsts.add(second - first)
      expect(second - first).toBeGreaterThanOrEqual(250)
      expect(second - first).toBeLessThanOrEqual(500)
      expect(third - second).toBeGreaterThanOrEqual(500)
      expect(third - second).toBeLessThanOrEqual(1_000)
    }
    expect(firsts.size).toBeGreaterThan(5)
  })

  it.each<[string, string, number]>([
    ['seconds', '7', 7_000],
    ['a date', new Date(Date.UTC(2026, 0, 1) + 7_000).toUTCString(), 7_000],
    ['nonsense', 'soon', 0],
  ])('Retry-After as %s is waited for, and a little more', async (_, retryAfter, atLeastMs) => {
    const { fetch, calls } = scriptedFetch(() => busy(retryAfter), found)
    const time = virtualTime()
    const api = createAgentApi({ baseUrl, fetch, clock: time.clock })
    await time.until(api.parentAgents.search())
    expect(calls).toHaveLength(2)
    expect(time.nowMs()).toBeGreaterThanOrEqual(atLeastMs + 250)
    expect(time.nowMs()).toBeLessThanOrEqual(atLeastMs + 500)
  })

  it('a Retry-After beyond the end of the call fails at once, and says for how long', async () => {
    const { api, time, sentAtMs } = rig([busy('60')])
    const error = await apiFailure(time.until(api.parentAgents.search()))
    expect(error).toMatchObject({ status: 429, retryable: true, details: { retryAfterMs: 60_000 } })
    expect({ requestsCount: sentAtMs.length, nowMs: time.nowMs() }).toEqual({ requestsCount: 1, nowMs: 0 })
  })
})

describe('the end of a call', () => {
  it('timeout: no answer, neither at first nor in the body, and the connection is closed', async () => {
    for (const step of [stall('request'), stall('head')]) {
      const { api, wire } = await wiredApi(step)
      const options = { timeoutMs: 200 }
      expect(await apiFailure(api.parentAgents.search({}, options))).toMatchObject({ code: 'timeout', retryable: true })
      const error = await apiFailure(api.parentAgents.create(newAgent, options))
      expect(error).toMatchObject({ code: 'timeout', retryable: false })
      expect(error.message).toMatch(/may have been carried out\.$/)
      await expect.poll(() => wire.connections.open).toBe(0)
    }
  })

  it('timeout covers the retries too, and a fetch that does not listen to its signal', async () => {
    const { api, time, sentAtMs } = rig([() => json({}, { status: 503 }), () => new Promise(() => {})])
    expect(await apiFailure(time.until(api.parentAgents.search()))).toMatchObject({ code: 'timeout' })
    expect({ nowMs: time.nowMs(), requestsCount: sentAtMs.length }).toEqual({ nowMs: 30_000, requestsCount: 2 })
  })

  it('aborted before it is sent, while it runs and while it waits; nothing is sent after that', async () => {
    const { api, time, sentAtMs } = rig([() => json({}, { status: 503 })])
    expect(await failure(api.parentAgents.search({}, { signal: AbortSignal.abort() }))).toMatchObject({
      code: 'aborted',
    })
    expect(sentAtMs).toEqual([])
    const controller = new AbortController()
    const waiting = failure(api.parentAgents.search({}, { signal: controller.signal }))
    await time.pass(10)
    controller.abort()
    expect(await waiting).toMatchObject({ code: 'aborted' })
    await time.pass(60_000)
    expect({ sentAtMsCount: sentAtMs.length, pendingTimers: time.pendingTimers }).toEqual({
      sentAtMsCount: 1,
      pendingTimers: 0,
    })
    const { api: wired, wire } = await wiredApi(stall('head'))
    const running = new AbortController()
    const call = failure(wired.parentAgents.search({}, { signal: running.signal, onResponse: () => running.abort() }))
    expect(await call).toMatchObject({ code: 'aborted' })
    expect(wire.requests).toHaveLength(1)
  })
})

describe('options', () => {
  const { fetch } = scriptedFetch(found)

  it.each<[string, object, string]>([
    ['no base URL', { fetch }, 'baseUrl'],
    ['a base URL without TLS', { fetch, baseUrl: 'http://api.example.com' }, 'baseUrl'],
    ['a misspelt name', { baseUrl, fetch, timeout: 1 }, 'timeoutMs'],
    ['a time-out of 0', { baseUrl, fetch, timeoutMs: 0 }, 'timeoutMs'],
    ['no number of retries', { baseUrl, fetch, maxRetries: Number.NaN }, 'maxRetries'],
  ])('createAgentApi refuses %s', async (_, options, name) => {
    const error = await failure(() => createAgentApi(options as AgentApiOptions))
    expect(error).toMatchObject({ code: 'config_invalid', message: expect.stringContaining(name) })
  })

  it('a call refuses unknown options, ids that are no number and bodies that are no JSON', async () => {
    const api = createAgentApi({ baseUrl, fetch })
    const circular: Record<string, unknown> = {}
    circular.self = circular
    const calls = [
      api.parentAgents.search({}, { timeout: 5 } as object),
      api.parentAgents.search({}, { signal: 5 } as object),
      api.parentAgents.contextVariables('1/../2' as unknown as number),
      api.request('POST', '/api/tools', circular),
      api.request('POST', '/api/tools', () => {}),
    ]
    for (const call of calls) expect(await failure(call)).toMatchObject({ code: 'config_invalid' })
  })

  it('undefined counts as absent, and a base URL may have a path and end with slashes', async () => {
    const { fetch, calls } = scriptedFetch(found)
    const options = { timeoutMs: undefined, maxRetries: undefined, maxBytes: undefined, onResponse: undefined }
    const api = createAgentApi({ baseUrl: `${baseUrl}/v1//`, fetch, clock: undefined, ...options })
    const search = { limit: undefined, filters: undefined, active: undefined }
    await api.parentAgents.search(search, { ...options, signal: undefined, extraMembers: undefined })
    expect(calls.map(({ url, init: { method, body, redirect } }) => ({ url, method, body, redirect }))).toEqual([
      { url: `${baseUrl}/v1/api/parent_agents/search`, method: 'POST', body: '{}', redirect: 'manual' },
    ])
    expect(new Headers(calls[0]?.init.headers).get('content-type')).toBe('application/json')
  })

  it('onResponse sees each response, also that of a success, and may read a clone of it', async () => {
    const time = virtualTime()
    const { fetch } = scriptedFetch(() => json({}, { status: 503 }), found)
    const seen: Promise<{ status: number; body: unknown }>[] = []
    const onResponse = (response: Response): void => {
      const clone = response.clone()
      seen.push(clone.json().then((body: unknown) => ({ status: response.status, body })))
    }
    const api = createAgentApi({ baseUrl, fetch, clock: time.clock, onResponse })
    await time.until(api.parentAgents.search())
    expect(await Promise.all(seen)).toEqual([
      { status: 503, body: {} },
      { status: 200, body: envelope({ items: [], count: 0 }) },
    ])
  })
})
