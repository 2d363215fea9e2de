import { type BearerTargets, createBearerFetch } from 'agent-auth'
import { createBrowserAuth } from 'agent-auth/browser'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { apiStub } from '../support/api-stub.ts'
import { signedIn } from '../support/signed-in.ts'
import { urlVectors, vectorBase } from '../support/url-vectors.ts'

type FetchInput = Parameters<typeof fetch>[0]

afterEach(() => vi.unstubAllGlobals())

describe('the table', () => {
  it('a session\u2019s token goes along inside the base URL and nowhere else, as text, URL and Request', async () => {
    const { session, issued } = await signedIn()
    const wrong: string[] = []
    for (const { url, token } of urlVectors) {
      for (const [form, input] of formsOf(url)) {
        const seen = await judged(session, { baseUrl: vectorBase }, input)
        if (seen !== (token === 'sent' ? `Bearer ${issued[0]}` : null)) wrong.push(`${token}: ${url} (${form})`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('strict mode refuses exactly the others', async () => {
    const wrong: string[] = []
    for (const { url, token } of urlVectors) {
      const api = apiStub(() => new Response())
      const strict = createBearerFetch('token', { baseUrl: vectorBase, fetch: api.fetch, elsewhere: 'reject' })
      const code = await strict(url).then(
        () => 'sent',
        (error: { code: string }) => error.code,
      )
      if (code !== (token === 'sent' ? 'sent' : 'origin_forbidden') || api.calls.length !== (token === 'sent' ? 1 : 0))
        wrong.push(`${code}: ${url}`)
    }
    expect(wrong).toEqual([])
  })
})

it('a text with any ASCII character goes out as the URL parser writes it', async () => {
  const api = apiStub(() => new Response())
  const bearerFetch = createBearerFetch('token', { baseUrl: vectorBase, fetch: api.fetch })
  const characters = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
  const texts = characters.map((each) => `${vectorBase}/a${each}b/${each}?c${each}d${each}`)
  for (const text of texts) await bearerFetch(text)
  expect(api.calls.map(({ input }) => input)).toEqual(texts.map((text) => new URL(text).href))
  expect(new Set(api.authorizations)).toEqual(new Set(['Bearer token']))
})

describe('other bases', () => {
  it.each<[base: string, inside: string[], outside: string[]]>([
    [
      'https://api.example.com',
      ['https://api.example.com', 'https://api.example.com/any', '/any', '/a%2f..%2fb', 'https://api.example.com/..'],
      ['https://api.example.com.evil', '//evil.example', 'https://u@api.example.com/', 'http://api.example.com/'],
    ],
    [
      'http://127.0.0.1:8080/',
      ['http://127.0.0.1:8080/x', 'http://127.1:8080/x', 'http://0x7f000001:8080/x', 'http://2130706433:8080/x'],
      [
        'http://127.0.0.1/x',
        'http://127.0.0.1:80/x',
        'https://127.0.0.1:8080/x',
        'http://localhost:8080/x',
        'http://[::1]:8080/x',
      ],
    ],
    ['https://api.example.com/v1//', ['https://api.example.com/v1/agents', 'agents'], ['https://api.example.com/v10']],
    [
      'http://[::1]:8080/a/b/',
      ['http://[::1]:8080/a/b', 'http://[0:0::1]:8080/a/b/c', 'c'],
      ['http://[::1]:8080/a', 'http://[::1]:8080/a/bc', 'http://[::2]:8080/a/b/c', '../c', 'http://127.0.0.1:8080/a/b'],
    ],
    [
      'https://b\u00fccher.example/v1',
      ['https://xn--bcher-kva.example/v1/x', 'https://B\u00dcCHER.example/v1/x', 'https://bu\u0308cher.example/v1'],
      ['https://bucher.example/v1/x', 'https://xn--bcher-kvb.example/v1/x'],
    ],
    [
      'https://api.example.com:8443',
      ['https://api.example.com:8443/x'],
      ['https://api.example.com/x', 'https://api.example.com:443/x'],
    ],
  ])('a baseUrl of %s gives the token to its own origin only', async (base, inside, outside) => {
    for (const url of inside)
      expect({ url, authorization: await judged('token', { baseUrl: base }, url) }).toEqual({
        url,
        authorization: 'Bearer token',
      })
    for (const url of outside)
      expect({ url, authorization: await judged('token', { baseUrl: base }, url) }).toEqual({
        url,
        authorization: null,
      })
  })

  it('a list of origins: each of them with any path, and nothing else', async () => {
    const origins = ['https://one.example.com', 'https://two.example.com:8443/', 'http://localhost:3000']
    for (const url of [
      'https://one.example.com/x',
      'https://one.example.com/a%2fb',
      'https://two.example.com:8443',
      'http://localhost:3000/y',
    ])
      expect({ url, authorization: await judged('token', { origins }, url) }).toEqual({
        url,
        authorization: 'Bearer token',
      })
    for (const url of [
      'https://two.example.com/x',
      'https://three.example.com/x',
      'https://one.example.com.evil/x',
      'https://u@one.example.com/x',
      'blob:https://one.example.com/x',
      'http://one.example.com/x',
      'wss://one.example.com/x',
      'http://127.0.0.1:3000/x',
      '/x',
      'x',
      '//one.example.com/x',
      'null',
    ])
      expect({ url, authorization: await judged('token', { origins }, url) }).toEqual({ url, authorization: null })
  })

  it('the list is copied: what is added later is not on it', async () => {
    const origins = ['https://one.example.com']
    const api = apiStub(() => new Response())
    const options = { origins, fetch: api.fetch }
    const call = createBearerFetch('token', options)
    origins.push('https://evil.example')
    options.fetch = () => Promise.reject(new Error('Another fetch was put in.'))
    await call('https://evil.example/')
    await call('https://one.example.com/')
    expect(api.authorizations).toEqual([null, 'Bearer token'])
  })

  it.each<[what: string, scope: Record<string, unknown>]>([
    ['neither', {}],
    ['an empty list', { origins: [] }],
    ['http off loopback', { baseUrl: 'http://api.example.com' }],
    ['a wildcard', { origins: ['*'] }],
    ['null', { origins: ['null'] }],
    ['a host without scheme', { origins: ['api.example.com'] }],
    ['a scheme without host', { origins: ['https://'] }],
    ['user info', { origins: ['https://user@api.example.com'] }],
    ['one bad origin among good ones', { origins: ['https://one.example.com', 'http://two.example.com'] }],
    ['a query', { baseUrl: 'https://api.example.com/?a=1' }],
    ['a fragment', { baseUrl: 'https://api.example.com/#a' }],
    ['an origin with a path, which would not limit anything', { origins: ['https://api.example.com/v1'] }],
  ])('fails closed at creation: %s', (_, scope) => {
    expect(() => createBearerFetch('token', scope as unknown as BearerTargets)).toThrow(
      expect.objectContaining({ code: 'config_invalid' }),
    )
  })
})

describe('relative URLs on a page', () => {
  it('count from the page where only origins are listed', async () => {
    vi.stubGlobal('location', { href: 'https://app.example.com/a/b' })
    const api = apiStub(() => new Response())
    const call = createBearerFetch('token', { origins: ['https://app.example.com'], fetch: api.fetch })
    await call('c')
    await call('//evil.example/c')
    expect(api.calls.map(({ url, authorization }) => ({ url, authorization }))).toEqual([
      { url: 'https://app.example.com/a/c', authorization: 'Bearer token' },
      { url: '//evil.example/c', authorization: null },
    ])
  })

  it('an object is not judged by what the same text meant as a relative URL', async () => {
    const api = apiStub(() => new Response())
    const call = createBearerFetch('token', { baseUrl: vectorBase, fetch: api.fetch, elsewhere: 'reject' })
    await call('agents')
    const sameText = { toString: () => 'agents' } as URL
    await expect(call(sameText)).rejects.toMatchObject({ code: 'origin_forbidden' })
    expect(api.authorizations).toEqual(['Bearer token'])
  })

  it('count from the base of the document, as those of fetch do', async () => {
    vi.stubGlobal('document', { baseURI: 'https://app.example.com/base/' })
    vi.stubGlobal('location', { href: 'https://app.example.com/a/' })
    const api = apiStub(() => new Response())
    await createBearerFetch('token', { origins: ['https://app.example.com'], fetch: api.fetch })('items')
    expect(api.calls[0]?.url).toBe('https://app.example.com/base/items')
  })

  it('count from the base URL where there is one, not from the page', async () => {
    vi.stubGlobal('location', { href: 'https://app.example.com/a/' })
    expect(await judged('token', { baseUrl: vectorBase }, 'https://app.example.com/v1/x')).toBe(null)
    const api = apiStub(() => new Response())
    await createBearerFetch('token', { baseUrl: vectorBase, fetch: api.fetch })('x')
    expect(api.calls[0]?.url).toBe(`${vectorBase}/x`)
  })
})

it('auth.fetch reports each origin that gets no token once, and none for a URL without a host', async () => {
  const reported: string[] = []
  const auth = createBrowserAuth({
    authUrl: 'https://auth.example.com',
    baseUrl: vectorBase,
    clientId: 'app',
    redirectUri: 'https://app.example.com/callback',
    fetch: async () => new Response(),
    onEvent: (event) => {
      if (event.type === 'sent_without_token') reported.push(event.origin)
    },
  })
  const hosts = ['https://one.example/v1?q=http', 'https://one.example/again', new URL('http://127.0.0.1:8080/v1')]
  for (const input of [...hosts, new Request('https://two.example/v1')]) await auth.fetch(input)
  for (const input of ['data:text/plain,http', 'ftp://example.com/http']) await auth.fetch(input)
  expect(reported).toEqual(['https://one.example', 'http://127.0.0.1:8080', 'https://two.example'])
  auth.close()
})

/** The `Authorization` with which the input leaves. */
async function judged(
  source: Parameters<typeof createBearerFetch>[0],
  scope: BearerTargets,
  input: FetchInput,
): Promise<string | null | undefined> {
  const api = apiStub(() => new Response())
  const refused = await createBearerFetch(source, { ...scope, fetch: api.fetch })(input).then(
    () => undefined,
    (error: { code: string }) => error.code,
  )
  // With user info nothing is sent at all, and neither is a path outside of the base path, which has no page to belong to.
  const code = /^\/\w/.test(String(input)) ? 'config_invalid' : 'origin_forbidden'
  expect({ refused, callsCount: api.calls.length }).toStrictEqual(
    refused ? { refused: code, callsCount: 0 } : { refused: undefined, callsCount: 1 },
  )
  return api.authorizations[0] ?? null
}

/** A URL as text and, where the platform takes it, as URL and as Request. */
function formsOf(text: string): [form: string, input: FetchInput][] {
  const forms: [string, FetchInput][] = [['text', text]]
  if (URL.canParse(text)) forms.push(['URL', new URL(text)])
  try {
    forms.push(['Request', new Request(text)])
  } catch {
    // Relative, or with user info: there is no such Request.
  }
  return forms
}
