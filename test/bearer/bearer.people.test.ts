import { createBearerFetch } from 'agent-auth'
import { describe, expect, it } from 'vitest'
import { apiStub } from '../support/api-stub.ts'
import { gate } from '../support/gate.ts'
import { baseUrl, signedIn } from '../support/signed-in.ts'

const url = `${baseUrl}/api/parent_agents`
const create: RequestInit = { method: 'POST', body: '{"agent_name":"of the first person"}' }
// 0 is the first person's sign-in; what follows depends on who renews first.
const token = (issue: number): string => `token-${issue}`

describe('another person signs in', () => {
  it('a 401 for user A that arrives after B signed in is session_changed, and no token of B goes out with that request', async () => {
    const signed = await signedIn({ token })
    let second = ''
    const api = apiStub(async () => {
      second = await signed.signInAnother()
      return new Response(null, { status: 401 })
    })
    const call = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })(url, create)
    await expect(call).rejects.toMatchObject({ code: 'session_changed', retryable: false })
    expect(second).toBe('token-1')
    expect(api.authorizations).toEqual(['Bearer token-0'])
    expect(signed.refreshes).toBe(0)
  })

  it('a refresh after a 401 for user A, in which B signs in, is session_changed: nothing is sent again, and B stays signed in', async () => {
    const held = gate()
    const signed = await signedIn({ token, onRefresh: () => held.passed })
    const api = apiStub(
      ({ authorization }) => new Response(null, { status: authorization === 'Bearer token-1' ? 200 : 401 }),
    )
    const send = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
    const call = send(url, create)
    const outcome = call.catch((error: unknown) => error)
    await expect.poll(() => signed.refreshes).toBe(1)
    const signingIn = signed.signInAnother()
    held.open()
    await signingIn
    expect(await outcome).toMatchObject({ code: 'session_changed', retryable: false })
    expect(api.authorizations).toEqual(['Bearer token-0'])
    expect(await signed.session.getAccessToken()).toBe('token-1')
    expect((await send(url)).status).toBe(200)
  })

  it('a request of user A that waits for a token is session_changed when B signs in, and is never sent', async () => {
    const held = gate()
    const signed = await signedIn({ token, onRefresh: () => held.passed })
    signed.clock.advance(3_600_000)
    const api = apiStub(() => new Response())
    const outcome = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })(url, create).catch(
      (error: unknown) => error,
    )
    await expect.poll(() => signed.refreshes).toBe(1)
    const signingIn = signed.signInAnother()
    held.open()
    await signingIn
    expect(await outcome).toMatchObject({ code: 'session_changed' })
    expect(api.calls).toEqual([])
  })

  it('a sign-out during a refresh: a request of user A gets its own 401, or login_required if it was not sent yet', async () => {
    for (const [elapsedMs, expected] of [
      [0, { status: 401 }],
      [3_600_000, { code: 'login_required' }],
    ] as const) {
      const held = gate()
      const signed = await signedIn({ token, onRefresh: () => held.passed })
      signed.clock.advance(elapsedMs)
      const api = apiStub(() => new Response(null, { status: 401 }))
      const outcome = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })(url, create).catch(
        (e: unknown) => e,
      )
      await expect.poll(() => signed.refreshes).toBe(1)
      await signed.session.signOut()
      await signed.signInAnother()
      held.open()
      expect(await outcome).toMatchObject(expected)
      expect(api.authorizations).toEqual(elapsedMs === 0 ? ['Bearer token-0'] : [])
      expect(await signed.session.getAccessToken()).toBe('token-1')
    }
  })

  it('after a sign-out alone the 401 for user A comes back, and nothing is sent again', async () => {
    const signed = await signedIn({ token })
    const api = apiStub(async () => {
      await signed.session.signOut()
      return new Response('no', { status: 401 })
    })
    const send = createBearerFetch(signed.session, { baseUrl, fetch: api.fetch })
    expect(await (await send(url, create)).text()).toBe('no')
    await expect(send(url)).rejects.toMatchObject({ code: 'login_required' })
    expect({ callsCount: api.calls.length, refreshes: signed.refreshes }).toEqual({ callsCount: 1, refreshes: 0 })
  })

  it('two bearer fetches over two sessions never mix their tokens', async () => {
    const [one, two] = [await signedIn({ token: (n) => `one-${n}` }), await signedIn({ token: (n) => `two-${n}` })]
    const api = apiStub(({ url: to, authorization }) => {
      expect(authorization).toContain(to.endsWith('/one') ? 'Bearer one-' : 'Bearer two-')
      return new Response(null, { status: authorization?.endsWith('-1') ? 200 : 401 })
    })
    const calls = Array.from({ length: 100 }, async (_, index) => {
      const [{ session }, path] = index % 2 ? [one, 'one'] : [two, 'two']
      return (await createBearerFetch(session, { baseUrl, fetch: api.fetch })(`${url}/${path}`)).status
    })
    expect(await Promise.all(calls)).toEqual(Array(100).fill(200))
    expect({ one: one.refreshes, two: two.refreshes }).toEqual({ one: 1, two: 1 })
  })
})
