import { createBearerFetch } from 'agent-auth'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { apiStub } from '../support/api-stub.ts'
import { baseUrl } from '../support/signed-in.ts'
import { respond, startWire, type Wire } from '../support/wire.ts'

const url = `${baseUrl}/agents`
const ownProto = '{"__proto__":{"method":"DELETE","headers":{"x-own":"hidden"}}}'

describe('settings that are not plain objects', () => {
  let wire: Wire
  beforeEach(async () => {
    wire = await startWire(() => respond(200, {}, 'ok'))
  })
  afterEach(() => wire.close())

  class Defaults {
    get method(): string {
      return 'PATCH'
    }
    get body(): string {
      return 'inherited'
    }
  }
  class WithPrivateMembers {
    readonly #method = 'DELETE'
    get method(): string {
      return this.#method
    }
  }
  const kinds: [kind: string, make: () => RequestInit, method: string, body: string][] = [
    ['getters of a class', () => new Defaults(), 'PATCH', 'inherited'],
    ['getters of a class above another', () => new (class extends Defaults {})(), 'PATCH', 'inherited'],
    ['getters that read private members', () => new WithPrivateMembers(), 'DELETE', ''],
    ['members of a prototype', () => Object.create({ method: 'DELETE' }), 'DELETE', ''],
    ['members of a prototype without one', () => Object.create({ __proto__: null, method: 'PUT' }), 'PUT', ''],
    ['members that are not enumerable', () => Object.defineProperty({}, 'method', { value: 'PUT' }), 'PUT', ''],
    [
      'a nearer member hides a farther one',
      () => Object.assign(Object.create({ method: 'DELETE', body: 'far' }), { method: 'PUT' }),
      'PUT',
      'far',
    ],
    ['members of an own __proto__, as JSON has them', () => JSON.parse(ownProto), 'GET', ''],
    [
      'headers of a prototype',
      () => Object.create({ method: 'POST', body: 'x', headers: { 'x-own': 'inherited' } }),
      'POST',
      'x',
    ],
  ]

  it.each(kinds)('are sent as fetch sends them: %s', async (_, make, method, body) => {
    const call = createBearerFetch('token', { baseUrl: wire.url })
    await fetch(wire.url, make())
    await call(wire.url, make())
    await call(new Request(wire.url), make())
    const [plain, ...own] = wire.requests
    expect({ method: plain?.method, body: plain?.body }).toEqual({ method, body })
    for (const request of own) {
      expect({ method: request.method, body: request.body, header: request.header('x-own') }).toStrictEqual({
        method,
        body,
        header: plain?.header('x-own'),
      })
      expect(request.header('authorization')).toBe('Bearer token')
    }
    expect(own).toHaveLength(2)
  })

  it('an inherited signal counts', async () => {
    const reason = new Error('enough')
    const init: RequestInit = Object.create({ signal: AbortSignal.abort(reason) })
    await expect(createBearerFetch('token', { baseUrl: wire.url })(wire.url, init)).rejects.toBe(reason)
    expect(wire.requests).toEqual([])
  })

  it('an inherited Authorization is the caller\u2019s own', async () => {
    const init: RequestInit = Object.create({ headers: { authorization: 'Basic own' } })
    await createBearerFetch('token', { baseUrl: wire.url })(wire.url, init)
    expect(wire.requests[0]?.header('authorization')).toBe('Basic own')
  })

  it('an injected fetch gets the members of the caller and the headers, and nothing of every object', async () => {
    const api = apiStub(() => new Response())
    await createBearerFetch('token', { baseUrl, fetch: api.fetch })(url, { method: 'DELETE' })
    expect(Object.getOwnPropertyNames(api.calls[0]?.init)).toEqual(['method', 'headers'])
  })

  it('an injected fetch cannot add a member to the settings of later calls', async () => {
    const api = apiStub(({ init }) => {
      Reflect.set(Object.getPrototypeOf(init), 'method', 'DELETE')
      return new Response()
    })
    const call = createBearerFetch('token', { baseUrl, fetch: api.fetch })
    await call(url)
    await call(url)
    expect(api.calls.map(({ init }) => init?.method)).toEqual([undefined, undefined])
  })

  it('null is no settings at all', async () => {
    const init = null as unknown as RequestInit
    expect((await createBearerFetch('token', { baseUrl: wire.url })(wire.url, init)).status).toBe(200)
  })

  it('a signal of null takes that of a Request away, as in fetch', async () => {
    const request = new Request(wire.url, { signal: AbortSignal.abort(new Error('enough')) })
    expect((await createBearerFetch('token', { baseUrl: wire.url })(request, { signal: null })).status).toBe(200)
  })

  it('what is undefined counts as absent, also beside a Request', async () => {
    const request = new Request(wire.url, { method: 'PUT', body: 'x', headers: { 'x-own': '1' } })
    const init = { method: undefined, body: undefined, headers: undefined, signal: undefined } as unknown as RequestInit
    await createBearerFetch('token', { baseUrl: wire.url })(request, init)
    const [seen] = wire.requests
    expect({ method: seen?.method, body: seen?.body, header: seen?.header('x-own') }).toEqual({
      method: 'PUT',
      body: 'x',
      header: '1',
    })
  })
})

describe('the referrer', () => {
  const referrers: [what: string, init: RequestInit][] = [
    ['no-referrer', { referrerPolicy: 'no-referrer' }],
    ['origin', { referrerPolicy: 'origin' }],
    ['an empty referrer', { referrer: '' }],
  ]
  const withBody: RequestInit = { method: 'POST', body: 'x' }

  it.each(referrers)('of a Request goes along, in both sendings: %s', async (_, init) => {
    for (const more of [{}, withBody]) {
      for (const settings of [undefined, {}, { referrerPolicy: undefined, referrer: undefined }, { method: 'POST' }]) {
        const request = new Request(url, { ...more, ...init })
        const { referrer, referrerPolicy } = request
        expect(await referrersSent(request, settings as RequestInit)).toEqual([
          { referrer, referrerPolicy },
          { referrer, referrerPolicy },
        ])
      }
    }
  })

  it('of the settings beats that of the Request', async () => {
    const request = new Request(url, { referrer: '', referrerPolicy: 'no-referrer' })
    const init: RequestInit = { referrer: 'about:client', referrerPolicy: 'origin' }
    expect((await referrersSent(request, init)).map(({ referrerPolicy }) => referrerPolicy)).toEqual([
      'origin',
      'origin',
    ])
  })

  /** What a Request made of input and settings shows, as fetch makes one. */
  async function referrersSent(
    input: Request,
    init?: RequestInit,
  ): Promise<{ referrer: string; referrerPolicy: string }[]> {
    const seen: { referrer: string; referrerPolicy: string }[] = []
    const api = apiStub((call) => {
      const { referrer, referrerPolicy } = new Request(call.input, call.init)
      seen.push({ referrer, referrerPolicy })
      return new Response(null, { status: 401 })
    })
    const source = { getAccessToken: async ({ rejected = '' } = {}) => (rejected ? 'new' : 'old') }
    await createBearerFetch(source, { baseUrl, fetch: api.fetch })(input, init)
    return seen
  }
})

it('the address space of a Request is sent along where the platform shows one, as Chromium does', async () => {
  const api = apiStub(() => new Response())
  const call = createBearerFetch('token', { baseUrl, fetch: api.fetch })
  await call(Object.assign(new Request(url), { targetAddressSpace: 'loopback' }))
  await call(new Request(url))
  const [shown, plain] = api.calls.map(({ init }) => ({ ...init }))
  expect(shown).toMatchObject({ targetAddressSpace: 'loopback' })
  expect(plain).not.toHaveProperty('targetAddressSpace')
})
