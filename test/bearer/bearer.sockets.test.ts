import { inspect } from 'node:util'
import { createBearerFetch } from 'agent-auth'
import { afterEach, describe, expect, it } from 'vitest'
import { assertNoLeak } from '../support/canary.ts'
import { gate } from '../support/gate.ts'
import { type SignedInOptions, signedIn } from '../support/signed-in.ts'
import { inTwoParts, raw, redirect, reset, respond, type Script, startWire, type Wire } from '../support/wire.ts'

const token = (issue: number): string => `token-${issue}`
const create = (body = '{"agent_name":"a"}'): RequestInit => ({
  method: 'POST',
  body,
  headers: { 'content-type': 'application/json' },
})
const invalid = 'invalid authentication credentials'

const wires: Wire[] = []

async function wire(script: Script): Promise<Wire> {
  const started = await startWire(script)
  wires.push(started)
  return started
}

/** A bearer fetch of a signed-in person for that server. */
async function sender(
  api: Wire,
  options: SignedInOptions = {},
): Promise<{ send: typeof fetch } & Awaited<ReturnType<typeof signedIn>>> {
  const signed = await signedIn(options)
  return Object.assign(signed, { send: createBearerFetch(signed.session, { baseUrl: api.url }) })
}

const authorizations = ({ requests }: Wire): (string | undefined)[] =>
  requests.map((one) => one.header('authorization'))

afterEach(async () => {
  await Promise.all(wires.splice(0).map((one) => one.close()))
})

describe('redirects are the engine\u2019s, and the token does not travel with them to another origin', () => {
  const statuses = [301, 302, 303, 307, 308]

  it.each(statuses)('%i to another origin arrives there without Authorization', async (status) => {
    const elsewhere = await wire(respond(200, {}, 'elsewhere'))
    const api = await wire(redirect(status, `${elsewhere.url}/landing`))
    const { send, issued } = await sender(api)
    const inputs: Parameters<typeof fetch>[] = [
      [api.url],
      [`${api.url}/x`, create()],
      [new URL(api.url)],
      [new Request(api.url, create())],
    ]
    for (const args of inputs) expect(await (await send(...args)).text()).toBe('elsewhere')
    expect(authorizations(api)).toEqual(inputs.map(() => `Bearer ${issued[0]}`))
    expect(authorizations(elsewhere)).toEqual(inputs.map(() => undefined))
    for (const { bytes } of elsewhere.requests)
      assertNoLeak(bytes.toString('latin1'), 'the request at the other origin')
  })

  it.each(statuses)('%i nor does a user session token, nor the newer token of a retry', async (status) => {
    const elsewhere = await wire(respond(200))
    const api = await wire([redirect(status, elsewhere.url), respond(401), redirect(status, elsewhere.url)])
    await createBearerFetch('user-session-token', { baseUrl: api.url })(api.url)
    const { send } = await sender(api, { token })
    expect((await send(api.url)).status).toBe(200)
    expect(authorizations(api)).toEqual(['Bearer user-session-token', 'Bearer token-0', 'Bearer token-1'])
    expect(authorizations(elsewhere)).toEqual([undefined, undefined])
  })

  it.each(statuses)('%i there and back again: it is not put on again on the way', async (status) => {
    const back: { url?: string } = {}
    const elsewhere = await wire(() => redirect(status, `${back.url}/back`))
    const api = await wire(({ target }) => (target === '/back' ? respond(200) : redirect(status, elsewhere.url)))
    back.url = api.url
    const { send } = await sender(api, { token })
    await send(`${api.url}/x`)
    expect([...authorizations(api), ...authorizations(elsewhere)]).toEqual(['Bearer token-0', undefined, undefined])
  })

  it('within the origin it is followed as without this library, and the caller\u2019s own mode is kept', async () => {
    const api = await wire(({ target }) => (target === '/new' ? respond(200) : redirect(307, '/new')))
    const { send } = await sender(api, { token })
    const followed = await send(`${api.url}/old`, create())
    expect({ status: followed.status, redirected: followed.redirected, url: followed.url }).toEqual({
      status: 200,
      redirected: true,
      url: `${api.url}/new`,
    })
    expect(authorizations(api)).toEqual(['Bearer token-0', 'Bearer token-0'])
    const manual = await send(`${api.url}/old`, { redirect: 'manual' })
    expect({ status: manual.status, location: manual.headers.get('location') }).toEqual({
      status: 307,
      location: '/new',
    })
    await expect(send(`${api.url}/old`, { redirect: 'error' })).rejects.toThrow(TypeError)
    expect(api.requests.map(({ target }) => target)).toEqual(['/old', '/new', '/old', '/old'])
  })

  it('a 401 of another origin says nothing about the token, which it never saw: no refresh, no second sending', async () => {
    const elsewhere = await wire(respond(401, {}, 'sign this download'))
    const api = await wire(redirect(307, elsewhere.url))
    const signed = await sender(api, { token })
    const response = await signed.send(api.url, create())
    expect({ status: response.status, text: await response.text() }).toEqual({
      status: 401,
      text: 'sign this download',
    })
    expect({
      refreshes: signed.refreshes,
      apiCount: api.requests.length,
      elsewhereCount: elsewhere.requests.length,
    }).toEqual({ refreshes: 0, apiCount: 1, elsewhereCount: 1 })
  })
})

describe('what is on the wire', () => {
  it.each<[what: string, init: RequestInit | undefined]>([
    ['GET', undefined],
    ['POST with JSON', create()],
    [
      'own headers',
      { method: 'PUT', body: new URLSearchParams({ a: '1' }), headers: { accept: 'text/plain', 'x-own': '1' } },
    ],
  ])('%s: every byte is as without this library, and Authorization comes on top', async (_, init) => {
    const api = await wire(respond(200))
    const { send, issued } = await sender(api)
    await fetch(`${api.url}/x?a=1`, init)
    await send(`${api.url}/x?a=1`, init)
    const [bare, borne] = api.requests.map(({ rawHead, body }) => [...rawHead.split('\r\n').sort(), body])
    const line = `authorization: Bearer ${issued[0]}`
    expect(borne?.filter((one) => one.toLowerCase() === line.toLowerCase())).toHaveLength(1)
    expect(borne?.filter((one) => one.toLowerCase() !== line.toLowerCase())).toEqual(bare)
  })
})

describe('connections that break', () => {
  const partial = 'HTTP/1.1 200 OK\r\ncontent-ty'

  it.each<[where: string, script: Script]>([
    ['before the answer', reset('after reading')],
    ['within its head', raw(partial, 'reset')],
  ])('%s: a create is not sent again, and the error is fetch\u2019s own', async (_, script) => {
    const api = await wire(script)
    const signed = await sender(api)
    const error: unknown = await signed.send(api.url, create()).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(TypeError)
    expect(error).toMatchObject({ message: 'fetch failed' })
    assertNoLeak(error, 'the network error')
    expect({ requestsCount: api.requests.length, refreshes: signed.refreshes }).toEqual({
      requestsCount: 1,
      refreshes: 0,
    })
  })

  it('a 401 whose own body breaks off is retried all the same', async () => {
    const head = `HTTP/1.1 401 Unauthorized\r\ncontent-length: 1000\r\n\r\n`
    const api = await wire(({ header }) =>
      header('authorization') === 'Bearer token-0' ? raw(`${head}{`, 'reset') : respond(200),
    )
    let refused: Response | undefined
    const { session } = await signedIn({
      token,
      async onRefresh() {
        await expect.poll(() => inspect(refused?.body)).toContain("state: 'errored'")
        return undefined
      },
    })
    const send = createBearerFetch(session, {
      baseUrl: api.url,
      async fetch(input, init) {
        const response = await fetch(input, init)
        refused ??= response
        return response
      },
    })
    expect((await send(api.url, create())).status).toBe(200)
    expect(authorizations(api)).toEqual(['Bearer token-0', 'Bearer token-1'])
  })
})

describe('sockets and bodies', () => {
  it('100 cycles of 401 with unread bodies of 128 kB: never more than a few open sockets', async () => {
    const seen = new Set(['Bearer token-0'])
    const large = 'x'.repeat(131_072)
    let most = 0
    const api = await wire(({ header }) => {
      most = Math.max(most, api.connections.open)
      const authorization = header('authorization') ?? ''
      // Each token is good for one request: every call begins with a 401.
      const isNew = !seen.has(authorization)
      seen.add(authorization)
      return isNew ? respond(200, {}, 'ok') : respond(401, {}, large)
    })
    const signed = await sender(api, { token, lifeS: undefined })
    for (let cycle = 0; cycle < 100; cycle++) {
      const response = await signed.send(api.url, create())
      expect({ status: response.status, text: await response.text() }).toEqual({ status: 200, text: 'ok' })
      signed.clock.advance(30_000)
    }
    expect({ refreshes: signed.refreshes, requestsCount: api.requests.length }).toEqual({
      refreshes: 100,
      requestsCount: 200,
    })
    // Each cycle that kept its socket would leave one more, and an unread body may be let go of a few cycles late.
    expect(most).toBeLessThanOrEqual(30)
  })

  it('calls that end in an error let go of the 401 as well', async () => {
    const large = 'x'.repeat(1_000_000)
    const api = await wire(respond(401, {}, large))
    const refused = async (): Promise<Response> => Response.json({ error: 'invalid_grant' }, { status: 400 })
    for (let call = 0; call < 20; call++) {
      const { send } = await sender(api, { token, onRefresh: refused })
      await expect(send(api.url, create())).rejects.toMatchObject({ code: 'session_ended' })
    }
    await expect.poll(() => api.connections.open).toBeLessThanOrEqual(4)
  })

  it('the final answer streams: its first bytes are readable before its last are sent', async () => {
    const read = gate()
    const api = await wire([respond(401, {}, invalid), inTwoParts('data: 1\n\n', 'data: 2\n\n', read.passed)])
    const { send } = await sender(api, { token })
    const response = await send(api.url)
    expect(response.bodyUsed).toBe(false)
    const parts: string[] = []
    for await (const part of response.body ?? []) {
      parts.push(Buffer.from(part).toString())
      read.open()
    }
    expect(parts).toEqual(['data: 1\n\n', 'data: 2\n\n'])
    expect(response.headers.get('content-type')).toBe('application/json')
  })
})
