import { createBearerFetch } from 'agent-auth'
import * as nodeFetch from 'node-fetch'
import * as undici from 'undici'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { apiStub } from '../support/api-stub.ts'
import { baseUrl } from '../support/signed-in.ts'

type FetchInput = Parameters<typeof fetch>[0]
type RequestClass = new (input: string, init?: RequestInit) => Request
interface Sent {
  readonly url: string
  readonly authorization: string | null
}

const api = `${baseUrl}/agents`
const elsewhere = 'https://evil.example/avatar.png'
const sentToTheApi = [{ url: api, authorization: 'Bearer token' }]

/** The platform's classes, and others that an app may have put into their place. */
const classes: Record<string, RequestClass> = {
  native: Request,
  'node-fetch': nodeFetch.Request as unknown as RequestClass,
  undici: undici.Request as unknown as RequestClass,
  // Such as the one that servers put into the place of the platform's.
  'a class that extends the platform’s': class extends Request {},
}

beforeAll(async () => {
  // It takes the place of the platform's fetch where there is none, as on React Native.
  const native = { fetch, Headers, Request, Response }
  Object.assign(globalThis, { fetch: undefined })
  const polyfill = await import('whatwg-fetch' as string)
  Object.assign(globalThis, native)
  classes['whatwg-fetch'] = polyfill.Request as RequestClass
})

afterEach(() => vi.unstubAllGlobals())

describe.each(['native', 'whatwg-fetch', 'node-fetch', 'undici', 'a class that extends the platform’s'])(
  'with the Request of %s as the global one',
  (name) => {
    const make = (url: string, init?: RequestInit): Request => {
      const RequestClass = classes[name] as RequestClass
      vi.stubGlobal('Request', RequestClass)
      return new RequestClass(url, init)
    }

    it('a Request to another origin gets no token, and is refused in strict mode', async () => {
      expect(await sent(make(elsewhere))).toEqual([{ url: elsewhere, authorization: null }])
      expect(await sent(make(elsewhere), 'reject')).toBe('origin_forbidden')
    })

    it('a Request to the API gets it, and goes where it was judged', async () => {
      expect(await sent(make(api))).toEqual(sentToTheApi)
      expect(await sent(make(api, { method: 'POST', body: 'text' }), 'reject')).toEqual(sentToTheApi)
    })

    it('a Request that is sent again after a 401 goes to the same URL', async () => {
      expect(await sentAgain(make(api))).toEqual([api, api])
    })

    it.each(['GET', 'POST'])('the %s of a Request with a clone of its own is sent again as judged', async (method) => {
      const request = make(api, { method })
      const { clone } = Object.getPrototypeOf(request)
      Object.defineProperty(request, 'clone', { value: () => clone.call(make(elsewhere)) })
      expect(await sentAgain(request)).toEqual([api, api])
    })

    it('a Request whose URL is changed while the token is waited for goes where it was judged', async () => {
      const request = make(api)
      const change = (): void => {
        Reflect.set(request, 'url', elsewhere)
      }
      expect(await sent(request, 'reject', change)).toEqual(sentToTheApi)
    })

    it.each<[how: string, disguise: (request: Request) => Request]>([
      ['a property of its own', (request) => Object.defineProperty(request, 'url', { value: api })],
      ['a getter that changes its mind', (request) => Object.defineProperty(request, 'url', { get: alternating() })],
      ['a proxy object', (request) => proxyOf(request, () => api)],
      ['a proxy object that changes its mind', (request) => proxyOf(request, alternating())],
    ])('a Request that shows another URL than the one it goes to gets no token there: %s', async (_, disguise) => {
      const refused = await sent(disguise(make(elsewhere)), 'reject')
      expect(refused === 'origin_forbidden' ? [] : refused).toEqual(refused === 'origin_forbidden' ? [] : sentToTheApi)
      const passed = await sent(disguise(make(elsewhere)))
      // Some classes refuse such an object themselves.
      for (const { url, authorization } of Array.isArray(passed) ? passed : [])
        expect({ url, authorization }).toEqual({ url, authorization: url === api ? authorization : null })
    })

    it('a Request that shows a URL elsewhere gets no token, wherever it goes', async () => {
      const shown = Object.defineProperty(make(api), 'url', { value: elsewhere })
      expect(await sent(shown, 'reject')).toBe('origin_forbidden')
    })

    it.each(['', 'undefined', '/v1/agents', 'agents'])(
      'a Request whose URL is no absolute one is not judged: %j',
      async (url) => {
        const request = Object.defineProperty(make(api), 'url', { value: url })
        expect(await sent(request, 'reject')).toBe('origin_forbidden')
      },
    )

    it('a Request whose URL is no text is not judged', async () => {
      for (const url of [{ toString: alternating() }, new URL(api), undefined, [api]]) {
        const request = Object.defineProperty(make(api), 'url', { value: url })
        expect(await sent(request, 'reject')).toBe('origin_forbidden')
      }
    })

    it('a Request of another class than the global one is not judged', async () => {
      vi.unstubAllGlobals()
      for (const RequestClass of Object.values(classes)) {
        const global = classes[name] as RequestClass
        if (RequestClass === global || RequestClass.prototype instanceof global) continue
        vi.stubGlobal('Request', global)
        expect(await sent(new RequestClass(api), 'reject')).toBe('origin_forbidden')
      }
    })
  },
)

describe('a global Request class that extends the platform’s', () => {
  it('the Request itself is sent, so that its body is read once and no copy of it stays behind', async () => {
    const Extended = class extends Request {}
    vi.stubGlobal('Request', Extended)
    const request = new Extended(api, { method: 'POST', body: 'text' })
    const stub = apiStub(async ({ input, init }) => new Response(await new Request(input, init).text()))
    const call = createBearerFetch('token', { baseUrl, fetch: stub.fetch })
    expect(await (await call(request)).text()).toBe('text')
    expect(stub.calls[0]?.input).toBe(request)
    expect(request.bodyUsed).toBe(true)
  })

  it('a body is sent again with its bytes, and a clone of such a class does not stand for the Request', async () => {
    class Lying extends Request {
      override clone(): Request {
        return new Request(elsewhere, { method: 'POST', body: 'another' })
      }
    }
    const native = Request
    vi.stubGlobal('Request', Lying)
    const sent: { url: string; body: string }[] = []
    const stub = apiStub(async ({ input, init }) => {
      const request = new native(input, init)
      sent.push({ url: request.url, body: await request.text() })
      return new Response(null, { status: sent.length === 1 ? 401 : 200 })
    })
    const call = createBearerFetch(newerEachTime(), { baseUrl, fetch: stub.fetch })
    expect((await call(new Lying(api, { method: 'POST', body: 'text' }))).status).toBe(200)
    expect(sent).toEqual([
      { url: api, body: 'text' },
      { url: api, body: 'text' },
    ])
  })

  it('a getter of such a class does not stand for the URL that fetch goes by', async () => {
    class Lying extends Request {
      override get url(): string {
        return api
      }
    }
    vi.stubGlobal('Request', Lying)
    expect(await sent(new Lying(elsewhere), 'reject')).toBe('origin_forbidden')
  })
})

it.each(['GET', 'HEAD'])('after a 401 the same %s Request is sent again, and no copy of it', async (method) => {
  const request = new Request(api, { method })
  const stub = apiStub(() => new Response(null, { status: 401 }))
  await createBearerFetch(newerEachTime(), { baseUrl, fetch: stub.fetch })(request)
  expect(stub.calls.map(({ input }) => input === request)).toEqual([true, true])
})

describe('a bearer fetch that has sent a Request before', () => {
  it('a url getter that is put on the class later does not stand for the URL that fetch goes by', async () => {
    const stub = apiStub(() => new Response())
    const call = createBearerFetch('token', { baseUrl, fetch: stub.fetch, elsewhere: 'reject' })
    await call(new Request(api))
    const own = Object.getOwnPropertyDescriptor(Request.prototype, 'url') as PropertyDescriptor
    Object.defineProperty(Request.prototype, 'url', { ...own, get: () => api })
    try {
      await expect(call(new Request(elsewhere))).rejects.toMatchObject({ code: 'origin_forbidden' })
    } finally {
      Object.defineProperty(Request.prototype, 'url', own)
    }
    expect(stub.calls).toHaveLength(1)
  })

  it('a Request of a class that became the global one later gets the token', async () => {
    const stub = apiStub(() => new Response())
    const call = createBearerFetch('token', { baseUrl, fetch: stub.fetch, elsewhere: 'reject' })
    await call(new Request(api))
    const Later = classes['whatwg-fetch'] as RequestClass
    vi.stubGlobal('Request', Later)
    await call(new Later(api))
    expect(stub.authorizations).toEqual(['Bearer token', 'Bearer token'])
  })
})

describe('what is neither text, URL nor Request', () => {
  const changing = (): { toString(): string } => ({ toString: alternating() })
  class ChangingUrl extends URL {
    readonly next = alternating()
    override get href(): string {
      return this.next()
    }
    override toString(): string {
      return this.next()
    }
  }

  it.each<[what: string, input: unknown]>([
    ['an object whose text changes', changing()],
    ['a URL whose text changes', new ChangingUrl(elsewhere)],
    ['a proxy of a URL', new Proxy(new URL(elsewhere), { get: () => alternating() })],
  ])('%s is read once, and goes where it was judged', async (_, input) => {
    const calls = await sent(input as FetchInput)
    expect(calls).toEqual(sentToTheApi)
  })

  it.each<[what: string, input: unknown]>([
    ['undefined', undefined],
    ['null', null],
    ['a number', 1],
    ['an object', {}],
    ['an object without a prototype', Object.create(null)],
    ['a relative URL in an object', { toString: () => 'agents' }],
    ['a relative URL in a list', ['agents']],
    ['what has a url', { url: api, headers: new Headers(), toString: () => api }],
  ])('%s is not judged', async (_, input) => {
    expect(await sent(input as FetchInput, 'reject')).toBe('origin_forbidden')
  })
})

/** A source whose token is another one after each 401. */
function newerEachTime(): { getAccessToken(): Promise<string> } {
  let calls = 0
  return { getAccessToken: async () => `token-${++calls}` }
}

/** Returns the URLs of both requests of a call that a 401 repeats. */
async function sentAgain(request: Request): Promise<string[]> {
  const stub = apiStub(({ input }) => {
    urls.push((input as Request).url)
    return new Response(null, { status: 401 })
  })
  const urls: string[] = []
  await createBearerFetch(newerEachTime(), { baseUrl, fetch: stub.fetch })(request)
  return urls
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

/** Where a fetch of the global Request's family sends the input and with which `Authorization`; or the code of the refusal. */
async function sent(
  input: FetchInput,
  mode: 'pass' | 'reject' = 'pass',
  meanwhile: () => void = () => {},
): Promise<Sent[] | string> {
  const stub = apiStub((call) => {
    const request = call.input instanceof Request ? new Request(call.input, call.init) : undefined
    seen.push({
      url: request?.url ?? String(call.input),
      authorization: new Headers(call.init?.headers).get('authorization'),
    })
    return new Response()
  })
  const seen: Sent[] = []
  const getAccessToken = async (): Promise<string> => {
    meanwhile()
    return 'token'
  }
  const call = createBearerFetch({ getAccessToken }, { baseUrl, fetch: stub.fetch, elsewhere: mode })
  try {
    await call(input)
    return seen
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}
