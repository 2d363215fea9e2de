import { createBearerFetch } from 'agent-auth'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { apiStub } from '../support/api-stub.ts'
import { assertNoLeak, secret } from '../support/canary.ts'
import { authUrl, baseUrl, signedIn } from '../support/signed-in.ts'

const ok = (): Response => new Response('ok')
const refused = (): Response => new Response('invalid authentication credentials', { status: 401 })
const url = `${baseUrl}/api/parent_agents/search`

afterEach(() => vi.unstubAllGlobals())

describe('the header', () => {
  it('a session puts its access token on a request under the base URL', async () => {
    const { session, issued } = await signedIn()
    const api = apiStub(ok)
    const response = await createBearerFetch(session, { baseUrl, fetch: api.fetch })(url, {
      method: 'POST',
      body: '{}',
    })
    expect(await response.text()).toBe('ok')
    expect(api.authorizations).toEqual([`Bearer ${issued[0]}`])
  })

  it('a relative URL is resolved against the base URL, and sent as it was judged', async () => {
    const { session, issued } = await signedIn()
    const api = apiStub(ok)
    await createBearerFetch(session, { baseUrl, fetch: api.fetch })('api/parent_agents?limit=1')
    expect(api.calls.map((call) => call.url)).toEqual([`${baseUrl}/api/parent_agents?limit=1`])
    expect(api.authorizations).toEqual([`Bearer ${issued[0]}`])
  })

  it('elsewhere the request passes without the token, or is refused when asked to, and no token is asked for', async () => {
    const getAccessToken = vi.fn(async () => 'never')
    const api = apiStub(ok)
    const init = { method: 'PUT', headers: { 'x-own': '1' }, body: 'text' }
    const elsewhere = 'https://files.example.net/v1/x'
    await createBearerFetch({ getAccessToken }, { baseUrl, fetch: api.fetch })(elsewhere, init)
    expect(api.calls).toMatchObject([{ input: elsewhere, authorization: null }])
    expect(api.calls[0]?.init).toBe(init)

    for (const word of ['reject', 'a misspelling'] as 'reject'[]) {
      const strict = createBearerFetch({ getAccessToken }, { baseUrl, fetch: api.fetch, elsewhere: word })
      await expect(strict(elsewhere, init)).rejects.toMatchObject({ code: 'origin_forbidden', retryable: false })
    }
    expect(api.calls).toHaveLength(1)
    expect(getAccessToken).not.toHaveBeenCalled()
  })

  it('the token is in no URL, in no body and in no header but Authorization, through a refresh and a retry', async () => {
    const { session, issued } = await signedIn()
    const api = apiStub((_, index) => (index === 0 ? refused() : ok()))
    const call = createBearerFetch(session, { baseUrl, fetch: api.fetch })
    await call(`${url}?q=1#part`, { method: 'POST', body: new URLSearchParams({ a: '1' }) })
    await call(new Request(url, { method: 'POST', body: '{"a":1}' }))
    expect(api.authorizations).toEqual([issued[0], issued[1], issued[1]].map((token) => `Bearer ${token}`))
    for (const { url: sentTo, headers, init, input } of api.calls) {
      headers.delete('authorization')
      const body = input instanceof Request ? await input.clone().text() : String(init?.body)
      assertNoLeak([sentTo, [...headers], body].join('\n'), 'the request without its Authorization')
    }
  })
})

describe('a caller\u2019s own Authorization', () => {
  const own = 'Basic b3duOm93bg=='
  const forms: [form: string, call: (send: typeof fetch) => Promise<Response>][] = [
    ['an object', (send) => send(url, { headers: { AUTHORIZATION: own } })],
    ['Headers', (send) => send(url, { headers: new Headers({ Authorization: own }) })],
    ['a Request', (send) => send(new Request(url, { headers: { authorization: own } }))],
  ]

  it.each(forms)('%s: left alone, and its 401 causes neither refresh nor retry', async (_, call) => {
    const signed = await signedIn()
    const getAccessToken = vi.spyOn(signed.session, 'getAccessToken')
    const api = apiStub(refused)
    const response = await call(createBearerFetch(signed.session, { baseUrl, fetch: api.fetch }))
    expect(response.status).toBe(401)
    expect(await response.text()).toBe('invalid authentication credentials')
    expect(api.authorizations).toEqual([own])
    expect(getAccessToken).not.toHaveBeenCalled()
    expect(signed.refreshes).toBe(0)
  })

  it('an empty one is one as well', async () => {
    const api = apiStub(refused)
    const { session } = await signedIn()
    await createBearerFetch(session, { baseUrl, fetch: api.fetch })(url, { headers: { authorization: '' } })
    expect(api.authorizations).toEqual([''])
  })
})

describe('nothing else is added or changed', () => {
  it('the injected fetch gets the caller\u2019s own settings and one header more: no redirect, cache, credentials or mode', async () => {
    const { session } = await signedIn()
    const api = apiStub(ok)
    const call = createBearerFetch(session, { baseUrl, fetch: api.fetch })
    const own: RequestInit = { method: 'POST', body: 'x', redirect: 'manual', cache: 'reload', keepalive: true }
    await call(url)
    await call(url, own)
    const settings = api.calls.map(({ init }) => ({
      ...init,
      headers: [...new Headers(init?.headers)].map(([name]) => name),
    }))
    const headers = ['authorization']
    expect(settings).toEqual([{ headers }, { ...own, headers }])
  })
})

describe('one fetch', () => {
  it('the injected fetch is called bare, for API, elsewhere and token requests, and the global never', async () => {
    vi.stubGlobal('fetch', () => {
      throw new Error('The global fetch was called.')
    })
    const receivers = new Set<unknown>()
    const strict: typeof fetch = function (this: unknown, input) {
      receivers.add(this)
      const isToken = String(input).startsWith(authUrl)
      return Promise.resolve(isToken ? Response.json({ access_token: 'newer' }) : refused())
    }
    const { session } = await signedIn({ config: { fetch: strict } })
    const call = createBearerFetch(session, { baseUrl, fetch: strict })
    expect((await call(url)).status).toBe(401)
    await call('https://elsewhere.example.net/')
    await call(url, { headers: { authorization: 'own' } })
    await createBearerFetch('user-token', { baseUrl, fetch: strict })(url)
    expect([...receivers]).toEqual([undefined])
  })

  it('the global fetch is looked up at each call, so that a late one is used, and called bare', async () => {
    const { session, issued } = await signedIn()
    const call = createBearerFetch(session, { baseUrl })
    const receivers: unknown[] = []
    const api = apiStub(ok)
    vi.stubGlobal('fetch', function (this: unknown, ...args: Parameters<typeof fetch>) {
      receivers.push(this)
      return api.fetch(...args)
    })
    await call(url)
    expect(api.authorizations).toEqual([`Bearer ${issued[0]}`])
    expect(receivers.every((receiver) => receiver === undefined || receiver === globalThis)).toBe(true)
  })

  it('a bearer fetch that is also the fetch of its own session does not wait for itself', async () => {
    const seen: string[] = []
    let call: typeof fetch | undefined
    const raw: typeof fetch = async (input, init) => {
      const authorization = new Headers(init?.headers).get('authorization')
      seen.push(`${new URL(String(input)).hostname} ${authorization}`)
      if (String(input).startsWith(authUrl)) return Response.json({ access_token: 'token-1' })
      return new Response(null, { status: authorization === 'Bearer token-1' ? 200 : 401 })
    }
    const looped: typeof fetch = (input, init) => (call ?? raw)(input, init)
    const { session } = await signedIn({ token: (issue) => `token-${issue}`, config: { fetch: looped } })
    call = createBearerFetch(session, { baseUrl, fetch: raw })
    expect((await call(url)).status).toBe(200)
    expect(seen).toEqual(['api.example.com Bearer token-0', 'auth.example.com null', 'api.example.com Bearer token-1'])
  })
})

describe('platform errors that quote a secret', () => {
  const bad = (): string[] =>
    ['\r\nx-injected: 1', '\0', ' and more', '\u{1F511}'].map((tail) => secret('token') + tail)

  it('a source\u2019s token that cannot stand in a header is refused unquoted, and nothing is sent', async () => {
    for (const token of bad()) {
      const api = apiStub(ok)
      const call = createBearerFetch({ getAccessToken: async () => token }, { baseUrl, fetch: api.fetch })
      const error: unknown = await call(url).catch((reason: unknown) => reason)
      assertNoLeak(error, 'the rejection')
      expect(error).toMatchObject({ code: 'config_invalid', retryable: false })
      expect(api.calls).toEqual([])
    }
  })

  it.each([undefined, null, '', 1])(
    'a source that gives %j and no token is refused, and nothing is sent',
    async (none) => {
      const api = apiStub(ok)
      const source = { getAccessToken: async () => none as unknown as string }
      const call = createBearerFetch(source, { baseUrl, fetch: api.fetch })
      for (const _ of ['first', 'second']) await expect(call(url)).rejects.toMatchObject({ code: 'config_invalid' })
      expect(api.calls).toEqual([])
    },
  )

  it('nor is the newer token after a 401', async () => {
    for (const token of bad()) {
      const api = apiStub(refused)
      const source = {
        getAccessToken: async ({ rejected }: { rejected?: string } = {}) => (rejected ? token : 'first'),
      }
      const error: unknown = await createBearerFetch(source, { baseUrl, fetch: api.fetch })(url).catch(
        (e: unknown) => e,
      )
      assertNoLeak(error, 'the rejection')
      expect(error).toMatchObject({ code: 'config_invalid', retryable: false })
      expect(api.authorizations).toEqual(['Bearer first'])
    }
  })

  it('a base URL or origin with credentials, or that is no URL, is refused unquoted', () => {
    for (const make of [
      (s: string) => `https://user:${s}@api.example.com`,
      (s: string) => `https://${s}:x`,
      (s: string) => `//${s}`,
    ]) {
      const value = make(secret('password'))
      for (const scope of [{ baseUrl: value }, { origins: [value] }]) {
        const error = thrownBy(() => createBearerFetch('token', scope))
        expect(error).toMatchObject({ code: 'config_invalid' })
        assertNoLeak(error, 'the refusal')
      }
    }
  })

  it('a request URL with credentials is refused with a code of ours, unquoted, also where requests elsewhere pass', async () => {
    const call = createBearerFetch(secret('token'), { baseUrl })
    const made = secret('password')
    for (const target of [
      `https://me:${made}@api.example.com/v1/x`,
      new URL(`https://me:${made}@api.example.com/v1/x`),
      `https://${made}@evil.example/`,
      `https:\\\\me:${made}@api.example.com\\x`,
      `https://me:${made}@api.example.com:99999/x`,
      `https://me:${made}#1@api.example.com/v1/x`,
      `https:/me:${made}@api.example.com:99999/x`,
      { toString: () => `https://me:${made}@api.example.com/v1/x` } as URL,
    ]) {
      const error: unknown = await call(target).catch((reason: unknown) => reason)
      expect({ target: String(target).replace(made, ''), error }).toMatchObject({
        target: String(target).replace(made, ''),
        error: { code: 'origin_forbidden', retryable: false },
      })
      assertNoLeak(error, 'the refusal')
    }
  })

  it('a URL with an @ outside its user info, and text without @ that is no URL, are sent unchanged', async () => {
    const api = apiStub(ok)
    const call = createBearerFetch('token', { baseUrl, fetch: api.fetch })
    const urls = ['https://files.example.net/@me', 'https://files.example.net/?to=a@b.example', '/@me', 'data:,a@b']
    const targets = [...urls, 'https://files.example.net:port/']
    for (const target of targets) await call(target)
    expect(api.calls.map(({ input }) => input)).toEqual(targets)
  })

  function thrownBy(work: () => unknown): unknown {
    try {
      work()
      return undefined
    } catch (error) {
      return error
    }
  }
})
