import { createBearerFetch } from 'agent-auth'
import * as undici from 'undici'
import { afterEach, describe, expect, it, test, vi } from 'vitest'
import { apiStub } from '../support/api-stub.ts'
import { baseUrl } from '../support/signed-in.ts'
import { respond, startWire, type Wire } from '../support/wire.ts'

type FetchInput = Parameters<typeof fetch>[0]
type RequestClass = new (input: string, init?: RequestInit) => Request

const api = `${baseUrl}/agents`
const elsewhere = 'https://evil.example/avatar.png'

/** The platform's class, and one that an app may have put into its place. */
const classes: Record<string, RequestClass> = { native: Request, extended: class extends Request {} }

afterEach(() => vi.unstubAllGlobals())

describe.each(['native', 'extended'])('with the %s Request as the global one', (name) => {
  const make = (url: string, init?: RequestInit): Request => {
    const RequestClass = classes[name] as RequestClass
    vi.stubGlobal('Request', RequestClass)
    return new RequestClass(url, init)
  }

  it('a Request to another origin passes as it is without the token, and is refused in strict mode', async () => {
    const request = make(elsewhere)
    expect(await sent(request)).toEqual([{ input: request, url: elsewhere, authorization: null }])
    expect(await sent(request, 'reject')).toBe('origin_forbidden')
  })

  it('a Request whose URL is changed while the token is waited for goes where it was judged', async () => {
    const request = make(api)
    const calls = await sent(request, 'reject', () => Reflect.set(request, 'url', elsewhere))
    expect(calls).toMatchObject([{ url: api, authorization: 'Bearer token' }])
  })

  it.each<[how: string, disguise: (request: Request) => Request]>([
    ['a property of its own', (request) => Object.defineProperty(request, 'url', { value: api })],
    ['a getter that changes its mind', (request) => Object.defineProperty(request, 'url', { get: alternating() })],
    ['a proxy object', (request) => proxyOf(request, () => api)],
    ['a proxy object that changes its mind', (request) => proxyOf(request, alternating())],
  ])('no token goes elsewhere with a Request that shows a URL of the API: %s', async (_, disguise) => {
    for (const mode of ['pass', 'reject'] as const) {
      const calls = await sent(disguise(make(elsewhere)), mode)
      for (const call of Array.isArray(calls) ? calls : [])
        expect(call.authorization).toBe(call.url === api ? 'Bearer token' : null)
    }
  })

  it.each([elsewhere, '', 'undefined', '/v1/agents', 'agents'])(
    'a Request that shows the URL %j gets no token',
    async (url) => {
      const request = Object.defineProperty(make(api), 'url', { value: url })
      expect(await sent(request, 'reject')).toBe('origin_forbidden')
    },
  )

  it('a Request of another class than the global one gets no token', async () => {
    vi.stubGlobal('Request', classes[name])
    const foreign = new undici.Request(api) as unknown as Request
    expect(await sent(foreign, 'reject')).toBe('origin_forbidden')
  })
})

describe('what is neither text, URL nor Request', () => {
  class ChangingUrl extends URL {
    readonly next = alternating()
    override toString(): string {
      return this.next()
    }
  }

  it.each<[what: string, input: unknown]>([
    ['an object whose text changes', { toString: alternating() }],
    ['a URL whose text changes', new ChangingUrl(elsewhere)],
  ])('%s goes where it was judged', async (_, input) => {
    expect(await sent(input as FetchInput)).toEqual([{ input: api, url: api, authorization: 'Bearer token' }])
  })

  it.each<[what: string, input: unknown]>([
    ['null', null],
    ['a number', 1],
    ['an object without a prototype', Object.create(null)],
    ['a relative URL in an object', { toString: () => 'agents' }],
  ])('%s gets no token', async (_, input) => {
    expect(await sent(input as FetchInput, 'reject')).toBe('origin_forbidden')
  })
})

describe('settings', () => {
  let wire: Wire
  afterEach(() => wire?.close())

  class Defaults {
    readonly #method = 'PATCH'
    get method(): string {
      return this.#method
    }
    get headers(): Record<string, string> {
      return { 'x-own': 'inherited' }
    }
    get body(): string {
      return 'inherited'
    }
  }

  it.each<[kind: string, make: () => RequestInit]>([
    ['plain', () => ({ method: 'PUT', body: 'x', headers: { 'x-own': '1' } })],
    ['of a class with private members', () => new Defaults()],
    ['of a prototype', () => Object.create({ method: 'POST', body: 'x', headers: { 'x-own': 'inherited' } })],
    ['without a prototype', () => Object.assign(Object.create(null), { method: 'DELETE' })],
    ['in the form of a Request', () => new Request(api, { method: 'PUT', body: 'x', headers: { 'x-own': '1' } })],
    ['of null', () => null as unknown as RequestInit],
    [
      'whose members are undefined',
      () => ({ method: undefined, body: undefined, signal: undefined }) as unknown as RequestInit,
    ],
  ])('%s are sent as fetch sends them, beside a URL and beside a Request', async (_, make) => {
    wire = await startWire(() => respond(200, {}, 'ok'))
    const call = createBearerFetch('token', { baseUrl: wire.url })
    await fetch(wire.url, make())
    await call(wire.url, make())
    await call(new Request(wire.url), make())
    const [plain, ...own] = wire.requests.map(({ method, body, header }) => ({ method, body, own: header('x-own') }))
    expect(own).toEqual([plain, plain])
    const authorizations = wire.requests.map(({ header }) => header('authorization'))
    expect(authorizations).toEqual([undefined, 'Bearer token', 'Bearer token'])
  })

  it('that are inherited count: a signal, and the caller’s own Authorization', async () => {
    wire = await startWire(() => respond(200, {}, 'ok'))
    const reason = new Error('enough')
    const send = createBearerFetch('token', { baseUrl: wire.url })
    await expect(send(wire.url, Object.create({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason)
    await send(wire.url, Object.create({ headers: { authorization: 'Basic own' } }))
    expect(wire.requests.map(({ header }) => header('authorization'))).toEqual(['Basic own'])
  })

  it('with a signal of null take that of a Request away, as in fetch', async () => {
    wire = await startWire(() => respond(200, {}, 'ok'))
    const request = new Request(wire.url, { signal: AbortSignal.abort(new Error('enough')) })
    expect((await createBearerFetch('token', { baseUrl: wire.url })(request, { signal: null })).status).toBe(200)
  })

  it('that the caller uses again, changed, go out as they were at each call', async () => {
    const stub = apiStub(() => new Response())
    const call = createBearerFetch('token', { baseUrl, fetch: stub.fetch })
    const init: RequestInit = { method: 'POST' }
    await Promise.all(['one', 'two', 'three'].map((body) => call(api, Object.assign(init, { body }))))
    expect(stub.calls.map((seen) => seen.init?.body)).toEqual(['one', 'two', 'three'])
  })
})

test.each<[what: string, init: RequestInit]>([
  ['a policy', { referrerPolicy: 'origin' }],
  ['an empty referrer', { referrer: '' }],
])('the referrer of a Request goes along in both sendings: %s', async (_, init) => {
  for (const more of [{}, { method: 'POST', body: 'x' }]) {
    const request = new Request(api, { ...more, ...init })
    const { referrer, referrerPolicy } = request
    const seen: unknown[] = []
    const stub = apiStub(({ input }) => {
      seen.push({ referrer: (input as Request).referrer, referrerPolicy: (input as Request).referrerPolicy })
      return new Response(null, { status: 401 })
    })
    await createBearerFetch(newerEachTime(), { baseUrl, fetch: stub.fetch })(request)
    expect(seen).toEqual([
      { referrer, referrerPolicy },
      { referrer, referrerPolicy },
    ])
  }
})

/** A source whose token is another one after each 401. */
function newerEachTime(): { getAccessToken(): Promise<string> } {
  let calls = 0
  return { getAccessToken: async () => `token-${++calls}` }
}

/** Shows the API's URL first, and another in turns. */
function alternating(): () => string {
  let turn = 0
  return () => (turn++ % 2 ? elsewhere : api)
}

/** Answers for the URL itself; everything else, private members too, is the object's. */
function proxyOf(request: Request, url: () => string): Request {
  return new Proxy(request, {
    get(target, key) {
      const value: unknown = key === 'url' ? url() : Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

interface Sent {
  readonly input: FetchInput
  readonly url: string
  readonly authorization: string | null
}

/** Where a fetch of the global Request's family sends the input and with which `Authorization`; or the code of the refusal. */
async function sent(
  input: FetchInput,
  elsewhere: 'pass' | 'reject' = 'pass',
  meanwhile: () => void = () => {},
): Promise<Sent[] | string> {
  const seen: Sent[] = []
  const stub = apiStub((call) => {
    const url = call.input instanceof Request ? new Request(call.input).url : call.url
    seen.push({ input: call.input, url, authorization: call.authorization })
    return new Response()
  })
  const getAccessToken = async (): Promise<string> => {
    meanwhile()
    return 'token'
  }
  try {
    await createBearerFetch({ getAccessToken }, { baseUrl, fetch: stub.fetch, elsewhere })(input)
    return seen
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}
