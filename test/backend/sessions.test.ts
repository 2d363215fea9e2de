import { createAuthConfig, createSession, memoryStorage } from 'agent-auth'
import type { BackendSession } from 'agent-auth/backend'
import { describe, expect, test } from 'vitest'
import { clientOf, personOf } from '../../service/test/support/login.ts'
import { type BackendRig, guard, searchPath, statusAndCode, steppedStorage } from '../support/backend-rig.ts'
import { rigOf } from '../support/rig-of.ts'
import { failure } from '../support/token-flow.ts'

const refreshes = (rig: BackendRig): number => rig.sent.filter(({ url }) => url.includes('=refresh_token')).length
const signedIn = (session: BackendSession): Exclude<BackendSession, { status: 'signed-out' }> => {
  if (session.status === 'signed-out') throw new Error('signed out')
  return session
}

/** A clock for the backend that advances together with the service's. */
function together(): { clock: { wallMs(): number; monotonicMs(): number }; later(rig: BackendRig, ms: number): void } {
  let passed = 0
  return {
    clock: { wallMs: () => Date.now() + passed, monotonicMs: () => performance.now() + passed },
    later(rig, ms) {
      passed += ms
      rig.service.dev.advance(ms)
    },
  }
}

describe('one refresh', () => {
  test('64 parallel requests of one expired session in four processes: 1 refresh, 64 responses', async () => {
    const { clock, later } = together()
    const rig = await rigOf({ backend: { clock } })
    const backends = [rig.backend, rig.another(), rig.another(), rig.another()]
    const browsers = backends.map((backend) => rig.browser(backend))
    await browsers[0]?.logIn()
    const [name, value] = browsers[0]?.session() ?? ['', '']
    for (const browser of browsers) browser.setCookie(name, value)
    later(rig, 3_600_000)
    const answers = await Promise.all(Array.from({ length: 64 }, (_, at) => browsers[at % 4]?.call()))
    expect(answers.map((answered) => answered?.status)).toEqual(Array(64).fill(200))
    expect(refreshes(rig)).toBe(1)
    expect(answers.flatMap((answered) => answered?.headers.getSetCookie())).toEqual([])
  })

  test('a reader and a handler of one request share one refresh and one token', async () => {
    const { clock, later } = together()
    const rig = await rigOf({ backend: { clock } })
    const browser = rig.browser()
    await browser.logIn()
    later(rig, 3_600_000)
    const request = browser.request('/page')
    const first = signedIn(await rig.backend.getSession(request))
    expect(first.status).toBe('needs_refresh')
    expect(refreshes(rig)).toBe(0)
    const second = signedIn(await rig.backend.getSession(request))
    const tokens = await Promise.all([first.getAccessToken(), second.getAccessToken(), browser.call()])
    expect(tokens[0]).toBe(tokens[1])
    expect(refreshes(rig)).toBe(1)
    expect(signedIn(await rig.backend.getSession(request)).status).toBe('signed-in')
  })

  test('a refused refresh ends that one session with 401, and no other', async () => {
    const { clock, later } = together()
    const rig = await rigOf({ backend: { clock } })
    const ada = rig.browser()
    const bob = rig.browser()
    await ada.logIn()
    await rig.service.dev.revokeRefreshTokens()
    await bob.logIn()
    later(rig, 3_600_000)
    const [ended, going] = await Promise.all([ada.call(), bob.call()])
    expect(await statusAndCode(ended)).toEqual({ status: 401, code: 'session_ended' })
    expect(going.status).toBe(200)
    expect(ended.headers.getSetCookie()).toEqual([])
    expect(rig.events.filter(({ type }) => type === 'session_ended')).toEqual([
      { type: 'session_ended', reason: 'refused' },
    ])
    expect(await statusAndCode(await ada.call())).toEqual({ status: 401, code: 'login_required' })
    expect(await bob.status()).toBe('signed-in')
  })

  test('without a token endpoint expired sessions get a retryable 503 and work again once it is back', async () => {
    const { clock, later } = together()
    const rig = await rigOf({ backend: { clock } })
    const stale = rig.browser()
    await stale.logIn()
    later(rig, 3_600_000)
    const fresh = rig.browser()
    await fresh.logIn()
    rig.service.dev.addFault({
      match: { path: '/auth/v1/token' },
      effect: { status: 503, headers: { 'retry-after': '60' } },
    })
    const answered = await stale.call()
    expect(answered.headers.get('retry-after')).toBe('60')
    expect(await statusAndCode(answered)).toEqual({ status: 503, code: 'temporarily_unavailable' })
    expect((await fresh.call()).status).toBe(200)
    expect(await stale.status()).toBe('signed-in')
    rig.service.dev.clearFaults()
    later(rig, 61_000)
    expect((await stale.call()).status).toBe(200)
  })
})

/** The fetch of the rig, with access tokens of a minute and no refresh token. */
function withoutRefreshTokens({ options }: BackendRig): typeof fetch {
  return async (input, init) => {
    const answer = (await options.fetch?.(input, init)) ?? Response.error()
    if (!String(input).includes('/token?')) return answer
    const { access_token } = (await answer.json()) as { access_token: string }
    return Response.json({ access_token, expires_in: 60 })
  }
}

describe('a session without a refresh token', () => {
  test('once expired it has ended: one event, and no page shows a user as signed in', async () => {
    const { clock, later } = together()
    const rig = await rigOf({ backend: { clock } })
    const browser = rig.browser(rig.another({ fetch: withoutRefreshTokens(rig) }))
    await browser.logIn()
    expect(await browser.status()).toBe('signed-in')
    later(rig, 60_000)
    for (let calls = 0; calls < 3; calls++) {
      expect(await statusAndCode(await browser.call())).toEqual({ status: 401, code: 'login_required' })
      expect(await browser.status()).toBe('signed-out')
    }
    expect(rig.events.filter(({ type }) => type === 'login_required')).toHaveLength(1)
  })
})

describe('a request in progress at a login', () => {
  test.each([searchPath, '/auth/session'])(
    'to %s with the earlier session gets a late response: the new session keeps its cookie',
    async (path) => {
      const rig = await rigOf()
      const browser = rig.browser()
      await browser.logIn()
      const method = path === searchPath ? 'POST' : 'GET'
      const late = [rig.backend, rig.another()].map(
        (backend) => [backend, browser.request(path, { method, headers: guard })] as const,
      )
      await browser.logIn()
      for (const [backend, request] of late) {
        const answered = await backend.handle(request)
        expect(await answered?.json()).toMatchObject(
          method === 'POST' ? { code: 'login_required' } : { status: 'signed-out' },
        )
        expect(answered?.headers.getSetCookie()).toEqual([])
      }
    },
  )
})

describe('a storage that fails', () => {
  test('down: sessions in memory continue, others get a retryable 503, and no cookie is removed', async () => {
    let down = false
    const sessions = steppedStorage(() => {
      if (down) throw new Error('ECONNREFUSED 10.0.0.1')
    })
    const rig = await rigOf({ backend: { sessions } })
    const here = rig.browser()
    await here.logIn()
    const elsewhere = rig.browser(rig.another())
    elsewhere.setCookie(...here.session())
    down = true
    expect((await here.call()).status).toBe(200)
    const answered = await elsewhere.call()
    expect(answered.headers.get('retry-after')).toBe('1')
    expect(await statusAndCode(answered)).toEqual({ status: 503, code: 'storage_failed' })
    expect(await statusAndCode(await elsewhere.send('/auth/session'))).toEqual({ status: 503, code: 'storage_failed' })
    expect(await failure(rig.another().getSession(elsewhere.request('/')))).toMatchObject({
      code: 'storage_failed',
      retryable: true,
    })
    down = false
    expect((await elsewhere.call()).status).toBe(200)
    expect(elsewhere.lines).toEqual([])
  })

  test('that fails to write at a refresh: the new tokens are used and are saved later', async () => {
    const { clock, later } = together()
    let failing = false
    const sessions = steppedStorage((operation) => {
      if (failing && operation === 'setItem') throw new Error('READONLY')
    })
    const rig = await rigOf({ backend: { sessions, clock } })
    const browser = rig.browser()
    await browser.logIn()
    later(rig, 3_600_000)
    failing = true
    expect((await browser.call()).status).toBe(200)
    expect(rig.events).toContainEqual(expect.objectContaining({ type: 'storage_degraded', reason: 'write_failed' }))
    failing = false
    later(rig, 10_000)
    expect((await browser.call()).status).toBe(200)
    await expect.poll(() => elsewhereStatus(rig, browser.session())).toBe(200)
    expect(refreshes(rig)).toBe(1)
  })

  test('at logout: the browser is signed out, and the response says that the record may be left', async () => {
    let down = false
    const sessions = steppedStorage(() => {
      if (down) throw new Error('ECONNREFUSED')
    })
    const rig = await rigOf({ backend: { sessions } })
    const browser = rig.browser()
    await browser.logIn()
    const cookie = browser.session()
    down = true
    expect(await statusAndCode(await browser.logOut())).toEqual({ status: 503, code: 'storage_failed' })
    expect([...browser.cookies]).toEqual([])
    expect((await browser.logOut()).status).toBe(200)
    down = false
    browser.setCookie(...cookie)
    expect((await browser.call()).status).toBe(401)
  })
})

async function elsewhereStatus(rig: BackendRig, cookie: [string, string]): Promise<number> {
  const elsewhere = rig.browser(rig.another())
  elsewhere.setCookie(...cookie)
  return (await elsewhere.call()).status
}

describe('logout', () => {
  test('the session has ended in all processes, for copies of the cookie as well', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    await browser.logIn()
    const copy = rig.browser(rig.another())
    copy.setCookie(...browser.session())
    expect((await browser.logOut()).status).toBe(200)
    expect((await copy.call()).status).toBe(401)
    expect(await copy.status()).toBe('signed-out')
  })

  test.each([
    ['done', 200],
    ['failed', 503],
    ['failed', 'hang'],
    ['failed', 'refused'],
  ] as const)('revocation %s (%s): logout is 200, after the record is gone', async (outcome, how) => {
    const items = new Map<string, string>()
    const asked: { body: string; authorization: string | null; left: number }[] = []
    const rig = await rigOf({
      backend: {
        revocationEndpoint: 'https://auth.example.com/revoke',
        sessions: {
          getItem: (name) => items.get(name),
          setItem: (name, value) => void items.set(name, value),
          removeItem: (name) => void items.delete(name),
        },
      },
    })
    const fetcher: typeof fetch = async (input, init) => {
      if (!String(input).endsWith('/revoke')) return rig.service.fetch(input as string, init)
      const authorization = new Headers(init?.headers).get('authorization')
      asked.push({ body: String(init?.body), authorization, left: items.size })
      if (how === 'hang') return new Promise(() => {})
      if (how === 'refused') throw new TypeError('fetch failed')
      return new Response(null, { status: how })
    }
    const browser = rig.browser(rig.another({ fetch: fetcher }))
    await browser.logIn()
    const [[, record = ''] = []] = items
    const { refreshToken } = JSON.parse(record) as { refreshToken: string }
    const started = performance.now()
    expect((await browser.logOut()).status).toBe(200)
    // The revocation waits for 2 s, a token request for 10 s.
    expect(performance.now() - started).toBeLessThan(8_000)
    expect(rig.events.at(-1)).toMatchObject({ type: 'logged_out', revocation: outcome })
    expect(asked).toEqual([
      {
        body: `token_type_hint=refresh_token&token=${refreshToken}`,
        authorization: expect.stringMatching(/^Basic /),
        left: 0,
      },
    ])
  })
})

test('a public client revokes with its id, and follows no redirect with the token', async () => {
  const rig = await rigOf()
  const { clientId } = clientOf(rig.service, 'Demo public')
  const asked: { body: string; authorization: string | null; redirect: string | undefined }[] = []
  const backend = rig.another({
    clientId,
    clientSecret: undefined,
    revocationEndpoint: 'https://auth.example.com/revoke',
    fetch: async (input, init) => {
      if (!String(input).endsWith('/revoke')) return rig.service.fetch(input as string, init)
      const authorization = new Headers(init?.headers).get('authorization')
      asked.push({ body: String(init?.body), authorization, redirect: init?.redirect })
      return new Response(null, { status: 204 })
    },
  })
  const browser = rig.browser(backend)
  await browser.logIn()
  expect((await browser.logOut()).status).toBe(200)
  expect(asked).toEqual([
    { body: expect.stringContaining(`client_id=${clientId}`), authorization: null, redirect: 'manual' },
  ])
  // Only 200 is a success. RFC 7009 section 2.2.
  expect(rig.events.at(-1)).toEqual({ type: 'logged_out', revocation: 'failed' })
})

describe('server code', () => {
  test('has the fetch and the tokens of the session; other origins get nothing', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    await browser.logIn()
    const session = signedIn(await rig.backend.getSession(browser.request('/page')))
    const body = JSON.stringify({ limit: 1, offset: 0 })
    const headers = { 'content-type': 'application/json' }
    expect((await session.fetch(searchPath, { method: 'POST', headers, body })).status).toBe(200)
    expect(await failure(session.fetch('https://evil.example/'))).toMatchObject({ code: 'origin_forbidden' })
    expect(await session.getAccessToken()).toEqual(expect.any(String))
    expect(JSON.stringify(session)).not.toContain(await session.getAccessToken())
    await session.signOut()
    expect(await failure(session.getAccessToken())).toMatchObject({ code: 'login_required' })
    expect(await browser.status()).toBe('signed-out')
  })

  test('work without a request, by the key of a session, in another process', async () => {
    const { clock, later } = together()
    const rig = await rigOf({ backend: { clock } })
    const browser = rig.browser()
    await browser.logIn()
    const { key } = signedIn(await rig.backend.getSession({ headers: browser.request('/').headers }))
    expect(browser.cookieHeader()).not.toContain(key)
    browser.setCookie(browser.session()[0], key)
    expect(await browser.status()).toBe('signed-out')
    later(rig, 3_600_000)
    const job = signedIn(await rig.another().getSession({ key }))
    expect(job.status).toBe('needs_refresh')
    expect(await job.getAccessToken()).toEqual(expect.any(String))
    expect(refreshes(rig)).toBe(1)
  })

  test('a key of your own: a session that a script signed in', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    await browser.logIn()
    const { getAccessToken } = signedIn(await rig.backend.getSession(browser.request('/')))
    const { authUrl, baseUrl, clientId, clientSecret, redirectUri, fetch } = rig.options
    const config = createAuthConfig({ authUrl, baseUrl, clientId, clientSecret, redirectUri, fetch })
    const script = createSession(config, { storage: rig.sessions, key: 'nightly' })
    const obtainedAtMs = Date.now()
    await script.signIn({ accessToken: await getAccessToken(), obtainedAtMs, expiresAtMs: obtainedAtMs + 60_000 })
    const job = signedIn(await rig.backend.getSession({ key: 'nightly' }))
    expect((await job.fetch('/api/parent_agents/1/state_function/context_variables')).status).not.toBe(401)
    expect(await rig.backend.getSession({ key: 'other' })).toEqual({ signedIn: false, status: 'signed-out' })
  })

  test('two tenants and two clients over one storage: each sees its own session, and a cookie opens one', async () => {
    const sessions = memoryStorage()
    const rig = await rigOf({ backend: { sessions } })
    const { clientId, clientSecret } = clientOf(rig.service, 'Other confidential')
    const elsewhere = rig.another({ clientId, clientSecret })
    const ada = rig.browser()
    await ada.logIn()
    rig.service.dev.autoApprove(personOf(rig.service, 'ola').email)
    const ola = rig.browser(elsewhere)
    await ola.logIn()
    const tenants = async (browser: typeof ada): Promise<string[]> => {
      const session = signedIn(await (browser === ada ? rig.backend : elsewhere).getSession(browser.request('/')))
      const answered = await session.fetch('/api/parent_agents/search', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ limit: 250, offset: 0 }),
      })
      const { data } = (await answered.json()) as { data: { items: { tenant: string }[] } }
      return [...new Set(data.items.map(({ tenant }) => tenant))]
    }
    expect({ ada: await tenants(ada), ola: await tenants(ola) }).toEqual({ ada: ['demo'], ola: ['other'] })
    ola.setCookie(...ada.session())
    expect(await ola.status()).toBe('signed-out')
    const port = rig.browser(rig.another({ redirectUri: 'https://app2.demo.example/auth/callback' }))
    port.setCookie(...ada.session())
    expect(await port.status()).toBe('signed-out')
  })

  test('100 interleaved requests of ten users: each response is of its own session', async () => {
    const rig = await rigOf({
      api: (request) => Response.json({ token: request.headers.get('authorization') }),
    })
    const people = Array.from({ length: 10 }, () => rig.browser())
    for (const person of people) await person.logIn()
    const tokens = await Promise.all(
      people.map(async (person) => signedIn(await rig.backend.getSession(person.request('/'))).getAccessToken()),
    )
    expect(new Set(tokens).size).toBe(10)
    const answers = await Promise.all(
      Array.from(
        { length: 100 },
        async (_, at) => (await people[at % 10]?.call())?.json() as Promise<{ token: string }>,
      ),
    )
    expect(answers.map(({ token }) => token)).toEqual(answers.map((_, at) => `Bearer ${tokens[at % 10]}`))
  })
})
