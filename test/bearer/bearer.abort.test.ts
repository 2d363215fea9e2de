import { AgentAuthError, createBearerFetch } from 'agent-auth'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { acceptOnly, apiStub } from '../support/api-stub.ts'
import { gate } from '../support/gate.ts'
import { usedHeapBytes } from '../support/heap.ts'
import { baseUrl, signedIn } from '../support/signed-in.ts'

const url = `${baseUrl}/api/parent_agents`
const token = (issue: number): string => `token-${issue}`
const reason = new Error('The person left the page.')
const never = new Promise<never>(() => {})

afterEach(() => vi.useRealTimers())

type Call = (send: typeof fetch, signal: AbortSignal) => Promise<Response>
const ways: [where: string, call: Call][] = [
  ['the settings', (send, signal) => send(url, { method: 'POST', body: 'x', signal })],
  ['a Request', (send, signal) => send(new Request(url, { method: 'POST', body: 'x', signal }))],
  ['a Request without a body', (send, signal) => send(new Request(url, { signal }))],
  [
    'the settings beside a Request',
    (send, signal) => send(new Request(url, { method: 'POST', body: 'x' }), { signal }),
  ],
]

it('a signal without a reason, as on React Native, ends in the code aborted', async () => {
  const signed = await signedIn({ token })
  const signal = Object.defineProperty(AbortSignal.abort(), 'reason', { value: undefined })
  const send = createBearerFetch(signed.session, { baseUrl, fetch: async () => new Response() })
  await expect(send(url, { signal })).rejects.toMatchObject({ code: 'aborted' })
})

it('a signal that fires while the session ends after a 401 rejects with its own reason, and the response is not returned', async () => {
  const leaving = new AbortController()
  const source = {
    async getAccessToken(options?: { rejected?: string | undefined }) {
      if (options?.rejected === undefined) return token(0)
      leaving.abort(reason)
      throw new AgentAuthError('login_required', 'The session ended.')
    },
  }
  const send = createBearerFetch(source, { baseUrl, fetch: async () => new Response(null, { status: 401 }) })
  await expect(send(url, { signal: leaving.signal })).rejects.toBe(reason)
})

describe.each(ways)('the caller\u2019s signal in %s', (_, call) => {
  it('fired before: its own reason, and nothing is sent', async () => {
    const signed = await signedIn({ token })
    const api = apiStub(() => new Response())
    const send = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
    await expect(call(send, AbortSignal.abort(reason))).rejects.toBe(reason)
    expect({ callsCount: api.calls.length, refreshes: signed.refreshes }).toEqual({ callsCount: 0, refreshes: 0 })
  })

  it('fired while a token is waited for: its own reason, nothing is sent, and the refresh goes on', async () => {
    const refresh = gate()
    const signed = await signedIn({ token, onRefresh: () => refresh.passed })
    signed.clock.advance(3_600_000)
    const api = apiStub(() => new Response())
    const send = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
    const leaving = new AbortController()
    const left = call(send, leaving.signal)
    const staying = send(url)
    leaving.abort(reason)
    await expect(left).rejects.toBe(reason)
    expect(api.calls).toEqual([])
    refresh.open()
    expect((await staying).status).toBe(200)
    expect({ refreshes: signed.refreshes, authorizations: api.authorizations }).toEqual({
      refreshes: 1,
      authorizations: ['Bearer token-1'],
    })
  })

  it('fired during the first sending: it reached that sending', async () => {
    const signed = await signedIn({ token })
    const api = apiStub((seen) => untilAborted(seen))
    const leaving = new AbortController()
    const left = call(createBearerFetch(signed.session, { baseUrl, fetch: api.fetch }), leaving.signal)
    await expect.poll(() => api.calls).toHaveLength(1)
    leaving.abort(reason)
    await expect(left).rejects.toBe(reason)
    expect(signed.refreshes).toBe(0)
  })

  it('fired while a 401 waits for its refresh: its own reason, and nothing is sent again', async () => {
    const refresh = gate()
    const signed = await signedIn({ token, onRefresh: () => refresh.passed })
    const api = apiStub(acceptOnly(token(1)))
    const send = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
    const leaving = new AbortController()
    const left = call(send, leaving.signal)
    await expect.poll(() => signed.refreshes).toBe(1)
    leaving.abort(reason)
    await expect(left).rejects.toBe(reason)
    refresh.open()
    await expect.poll(() => signed.session.getAccessToken()).toBe('token-1')
    expect((await send(url)).status).toBe(200)
    expect({ refreshes: signed.refreshes, authorizations: api.authorizations }).toEqual({
      refreshes: 1,
      authorizations: ['Bearer token-0', 'Bearer token-1'],
    })
  })

  it('fired during the retry: it reached the retry', async () => {
    const signed = await signedIn({ token })
    const api = apiStub((seen, index) => (index === 0 ? new Response(null, { status: 401 }) : untilAborted(seen)))
    const leaving = new AbortController()
    const left = call(createBearerFetch(signed.session, { baseUrl, fetch: api.fetch }), leaving.signal)
    await expect.poll(() => api.calls).toHaveLength(2)
    // Node keeps the controller of a clone only until then.
    usedHeapBytes()
    leaving.abort(reason)
    await expect(left).rejects.toBe(reason)
  })
})

describe('many waiters and time', () => {
  it('one of ten waiters aborts: only that one is rejected, with its own reason, and there is one refresh', async () => {
    const refresh = gate()
    const signed = await signedIn({ token, onRefresh: () => refresh.passed })
    const api = apiStub(acceptOnly(token(1)))
    const send = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
    const controllers = Array.from({ length: 10 }, () => new AbortController())
    const calls = controllers.map(({ signal }) => send(url, { method: 'POST', body: 'x', signal }))
    const outcomes = Promise.allSettled(calls)
    await expect.poll(() => signed.refreshes).toBe(1)
    // The first is the one whose 401 began the refresh.
    controllers[0]?.abort(reason)
    await expect(calls[0]).rejects.toBe(reason)
    refresh.open()
    const [first, ...others] = await outcomes
    expect(first).toEqual({ status: 'rejected', reason })
    expect(others.map((outcome) => outcome.status === 'fulfilled' && outcome.value.status)).toEqual(Array(9).fill(200))
    expect(signed.refreshes).toBe(1)
  })

  it('a call that ends normally leaves no listener on the caller\u2019s signal', async () => {
    const signed = await signedIn({ token })
    const { signal } = new AbortController()
    let listeners = 0
    vi.spyOn(signal, 'addEventListener').mockImplementation(() => void listeners++)
    vi.spyOn(signal, 'removeEventListener').mockImplementation(() => void listeners--)
    const api = apiStub(acceptOnly(token(1)))
    await createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })(url, { signal })
    expect(api.calls).toHaveLength(2)
    expect(listeners).toBe(0)
  })

  it('a user session token leaves the signal to fetch', async () => {
    const api = apiStub((seen) => untilAborted(seen))
    const leaving = new AbortController()
    const left = createBearerFetch('user-token', { baseUrl, fetch: api.fetch })(url, { signal: leaving.signal })
    leaving.abort(reason)
    await expect(left).rejects.toBe(reason)
    expect(api.calls[0]?.init?.signal).toBe(leaving.signal)
  })
})

/** What fetch does with the signals it is given. */
function untilAborted({
  input,
  init,
}: {
  input: Parameters<typeof fetch>[0]
  init: RequestInit | undefined
}): Promise<Response> {
  const signals = [init?.signal, input instanceof Request ? input.signal : undefined]
  const aborts = signals.flatMap((signal) => {
    if (!signal) return []
    return new Promise<never>((_, reject) => {
      if (signal.aborted) reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  })
  return Promise.race([never, ...aborts])
}
