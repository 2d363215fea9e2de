import { createBearerFetch } from 'agent-auth'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { acceptOnly, apiStub, type SeenCall } from '../support/api-stub.ts'
import { gate } from '../support/gate.ts'
import { baseUrl, signedIn } from '../support/signed-in.ts'

const url = `${baseUrl}/api/parent_agents`
const create: RequestInit = {
  method: 'POST',
  body: '{"agent_name":"a"}',
  headers: { 'content-type': 'application/json' },
}
const token = (issue: number): string => `token-${issue}`
const bearer = (issue: number): string => `Bearer ${token(issue)}`
const answer = (status: number): Response => new Response(null, { status })

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

it('a 401 from where a redirect led that shows no URL is handed over', async () => {
  const answer = Object.defineProperty(new Response(null, { status: 401 }), 'redirected', { value: true })
  const api = apiStub(() => answer)
  const signed = await signedIn()
  expect(await createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })(`${baseUrl}/x`)).toBe(answer)
  expect({ callsCount: api.calls.length, refreshes: signed.refreshes }).toEqual({ callsCount: 1, refreshes: 0 })
})

describe('one retry', () => {
  it('100 calls with a stale token: one refresh, 100 retries, all succeed', async () => {
    const signed = await signedIn({ token })
    const api = apiStub(acceptOnly(token(1)))
    const call = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
    const statuses = await Promise.all(Array.from({ length: 100 }, async () => (await call(url, create)).status))
    expect(statuses).toEqual(Array.from({ length: 100 }, () => 200))
    expect(signed.refreshes).toBe(1)
    expect(countOf(api.authorizations)).toEqual({ [bearer(0)]: 100, [bearer(1)]: 100 })
  })

  it('a late 401 for a token that was replaced meanwhile: the current one is used, without a refresh', async () => {
    const signed = await signedIn({ token })
    const gates = [gate(), gate(), gate()]
    const api = apiStub(async (call, index) => {
      await gates[index]?.passed
      return acceptOnly(token(1))(call)
    })
    const call = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
    const calls = gates.map(() => call(url))
    for (const [index, one] of calls.entries()) {
      gates[index]?.open()
      expect((await one).status).toBe(200)
      expect(signed.refreshes).toBe(1)
      // Later than the pause after a refresh, which would keep from another one as well.
      signed.clock.advance(60_000)
    }
    expect(countOf(api.authorizations)).toEqual({ [bearer(0)]: 3, [bearer(1)]: 3 })
  })

  it('a second 401 is the answer: no third sending', async () => {
    const signed = await signedIn({ token })
    const api = apiStub(() => answer(401))
    const response = await createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })(url, create)
    expect(response.status).toBe(401)
    expect(api.authorizations).toEqual([bearer(0), bearer(1)])
  })

  it('the retry differs in nothing but the token: settings, headers and idempotency key stay', async () => {
    const signed = await signedIn({ token })
    const api = apiStub(acceptOnly(token(1)))
    const init = { ...create, headers: { 'idempotency-key': 'k-1', 'x-own': '1' }, credentials: 'include' as const }
    await createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })(url, init)
    const [first, second] = api.calls.map(({ url: to, init: settings, headers }) => {
      headers.delete('authorization')
      return { to, ...settings, headers: [...headers] }
    })
    expect(api.calls).toHaveLength(2)
    expect(second).toEqual(first)
  })

  it('without a refresh token the API\u2019s own 401 comes back, and the request went out once', async () => {
    const signed = await signedIn({ token, refreshable: 'no' })
    const api = apiStub(() => new Response('no', { status: 401 }))
    const response = await createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })(url, create)
    expect({ status: response.status, text: await response.text() }).toEqual({ status: 401, text: 'no' })
    expect({ callsCount: api.calls.length, refreshes: signed.refreshes }).toEqual({ callsCount: 1, refreshes: 0 })
  })

  it('a token that is known to be over is renewed before the request, which then goes out once', async () => {
    const signed = await signedIn({ token })
    signed.clock.advance(3_600_000)
    const api = apiStub(acceptOnly(token(1)))
    expect((await createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })(url)).status).toBe(200)
    expect(api.authorizations).toEqual([bearer(1)])
  })
})

describe('every waiter settles', () => {
  it('when the refresh is refused, 50 calls end with the session\u2019s error, and nothing was sent twice', async () => {
    const invalidGrant = async (): Promise<Response> => Response.json({ error: 'invalid_grant' }, { status: 400 })
    const signed = await signedIn({ token, onRefresh: invalidGrant })
    const api = apiStub(() => answer(401))
    const call = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
    const calls = Array.from({ length: 50 }, () => call(url, create))
    const outcomes = (await Promise.allSettled(calls)).map(({ status, ...rest }) => ({
      status,
      code: 'reason' in rest && rest.reason.code,
    }))
    expect(outcomes).toEqual(calls.map(() => ({ status: 'rejected', code: 'session_ended' })))
    expect({ refreshes: signed.refreshes, callsCount: api.calls.length }).toEqual({ refreshes: 1, callsCount: 50 })
    await expect(call(url)).rejects.toMatchObject({ code: 'login_required' })
    expect(api.calls).toHaveLength(50)
  })

  it('401s around one refresh that fails once: all settle, each is processed once, whenever its 401 arrives', async () => {
    let fail = true
    const signed = await signedIn({
      token,
      async onRefresh() {
        const status = fail ? 422 : 200
        fail = false
        return status === 200 ? undefined : answer(status)
      },
    })
    const processed = new Map<string, number>()
    const api = apiStub(async (call, index) => {
      // Some answers come before the refresh, some while it runs, some after it.
      for (let turns = (index * 7) % 23; turns > 0; turns--) await Promise.resolve()
      const response = acceptOnly(token(1))(call)
      if (response.ok) processed.set(call.url, (processed.get(call.url) ?? 0) + 1)
      return response
    })
    const call = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
    const targets = Array.from({ length: 50 }, (_, index) => `${url}?n=${index}`)
    const first = await Promise.allSettled(targets.map((target) => call(target, create)))
    const failed = targets.filter((_, index) => first[index]?.status === 'rejected')
    expect(failed.length).toBeGreaterThan(0)
    signed.clock.advance(60_000)
    const second = await Promise.all(failed.map((target) => call(target, create)))
    expect(second.every(({ status }) => status === 200)).toBe(true)
    expect([...processed.values()]).toEqual(targets.map(() => 1))
    expect(signed.refreshes).toBe(2)
  })
})

describe('what is no expired token', () => {
  it.each([403, 400, 404, 407, 409, 419, 422, 429, 500, 502, 503])(
    '%i comes back as it was: one sending, no refresh, also for a create',
    async (status) => {
      let hits = 0
      const headers = { 'retry-after': '7', 'www-authenticate': 'Bearer error="invalid_token"', 'x-request-id': 'r-1' }
      server.use(
        http.post(url, () => {
          hits += 1
          return HttpResponse.text('the body', { status, headers })
        }),
      )
      const signed = await signedIn()
      const response = await createBearerFetch(signed.session, { baseUrl })(url, create)
      expect({ status: response.status, text: await response.text() }).toEqual({ status, text: 'the body' })
      for (const [name, value] of Object.entries(headers)) expect(response.headers.get(name)).toBe(value)
      expect({ hits, refreshes: signed.refreshes }).toEqual({ hits: 1, refreshes: 0 })
    },
  )

  it('nor is the retry after a 401 sent again after a network error or a 503', async () => {
    for (const second of [() => Promise.reject(new TypeError('fetch failed')), async () => answer(503)]) {
      const signed = await signedIn({ token })
      const api = apiStub((_, index) => (index === 0 ? answer(401) : second()))
      const call = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
      const outcome = await call(url, create).then(
        ({ status }) => status,
        (error: Error) => error.message,
      )
      expect([503, 'fetch failed']).toContain(outcome)
      expect(api.authorizations).toEqual([bearer(0), bearer(1)])
    }
  })
})

describe('an API that always says 401', () => {
  it('10 minutes of calls: at most 2 sendings a call, at most 1 refresh in 30 s, and each call gets its 401', async () => {
    const signed = await signedIn({ token })
    const api = apiStub(() => answer(401))
    const call = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
    const refreshedAtMs: number[] = []
    for (let second = 0; second < 600; second++) {
      const before = [api.calls.length, signed.refreshes] as const
      expect((await call(url)).status).toBe(401)
      expect(api.calls.length - before[0]).toBeLessThanOrEqual(2)
      if (signed.refreshes > before[1]) refreshedAtMs.push(signed.clock.monotonicMs())
      signed.clock.advance(1_000)
    }
    expect(refreshedAtMs).toHaveLength(signed.refreshes)
    const pausesMs = refreshedAtMs.slice(1).map((atMs, index) => atMs - (refreshedAtMs[index] ?? 0))
    expect(Math.min(...pausesMs)).toBeGreaterThanOrEqual(30_000)
    // It does try again: the API may have been the one that was wrong.
    expect(refreshedAtMs.length).toBeGreaterThan(15)
  })
})

function countOf(values: readonly SeenCall['authorization'][]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1
  return counts
}
