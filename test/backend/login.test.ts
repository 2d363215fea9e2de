import { createHash } from 'node:crypto'
import { userTexts } from 'agent-auth/texts'
import { describe, expect, test } from 'vitest'
import { type AppBrowser, type BackendRig, guard, steppedStorage } from '../support/backend-rig.ts'
import { rigOf } from '../support/rig-of.ts'

const tokenRequests = (rig: BackendRig): number => rig.sent.filter(({ url }) => url.includes('/token')).length

describe('the login route', () => {
  test.each([
    ['sec-purpose', 'prefetch'],
    ['sec-purpose', 'prefetch;prerender'],
    ['purpose', 'prefetch'],
    ['x-moz', 'prefetch'],
    ['x-purpose', 'preview'],
    ['next-router-prefetch', '1'],
  ])('with %s: %s it starts nothing: no cookie, no redirect, not kept', async (name, value) => {
    const rig = await rigOf()
    for (const path of ['/auth/login', '/auth/callback?code=c&state=s']) {
      const answered = await rig.browser().send(path, { headers: { [name]: value } })
      expect(answered.status).toBe(503)
      expect(answered.headers.get('cache-control')).toBe('no-store')
      expect(answered.headers.getSetCookie()).toEqual([])
    }
    expect(rig.events).toEqual([])
  })

  test.each([
    ['a fetch', { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }],
    ['a fetch that hides what it is for', { 'sec-fetch-mode': 'cors' }],
    ['an image', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }],
    ['a frame', { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }],
  ])('%s gets no login and no cookie', async (_, headers) => {
    const answered = await (await rigOf()).browser().send('/auth/login', { headers })
    expect({ status: answered.status, cookies: answered.headers.getSetCookie() }).toEqual({ status: 403, cookies: [] })
  })

  test.each([
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['/\t/evil.example', '/'],
    ['\u0001//evil.example', '/'],
    ['/..//evil.example', '/'],
    ['javascript:alert(1)', '/'],
    ['https://evil.example/x', '/'],
    ['https://app.demo.example.evil.example/', '/'],
    ['/auth/logout', '/'],
    ['/auth/login?return_to=/x', '/'],
    ['/agents/../auth/login', '/'],
    ['https://app.demo.example/auth/login', '/'],
    [`/${'ä'.repeat(300)}`, '/'],
    ['/agents?q="><script>#<b>', '/agents?q=%22%3E%3Cscript%3E#%3Cb%3E'],
    ['https://app.demo.example/agents', '/agents'],
    ["/'onmouseover='x", '/&#39;onmouseover=&#39;x'],
  ])('a return URL of %s becomes %s', async (target, expected) => {
    const landed = await (await rigOf()).browser().logIn(target)
    expect(await landed.text()).toContain(`<a href="${expected.replaceAll("'", '&#39;')}">`)
  })
})

describe('a login that another site starts', () => {
  const landing = async (browser: AppBrowser, headers: Record<string, string>): Promise<string | undefined> => {
    const started = await browser.send('/auth/login?return_to=/settings/delete%3Fyes%3D1', { headers }, 'cross-site')
    const state = new URL(started.headers.get('location') ?? '').searchParams.get('state')
    const denied = await browser.send(`/auth/callback?error=access_denied&state=${state}`, {}, 'cross-site')
    return /href="\/auth\/login\?return_to=([^"]*)"/.exec(await denied.text())?.[1]
  }
  const page = encodeURIComponent('/settings/delete?yes=1')

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a sibling subdomain', { 'sec-fetch-site': 'same-site' }],
    ['a page that the browser does not name', {}],
    ['another site, of a browser that says only that', { referer: 'https://evil.example/auth/login' }],
  ])('from %s does not choose the page it ends on', async (_, headers) => {
    expect(await landing((await rigOf()).browser(), headers)).toBe('%2F')
  })

  test.each([
    ['a page of the app', { 'sec-fetch-site': 'same-origin' }],
    ['the address bar', { 'sec-fetch-site': 'none' }],
    ['a page of the app, of an older browser', { referer: 'https://app.demo.example/agents' }],
  ])('from %s it returns to the page that was asked for', async (_, headers) => {
    expect(await landing((await rigOf()).browser(), headers)).toBe(page)
  })

  test('with SameSite=Lax, by which links of other sites arrive signed in, a link may name the page', async () => {
    const rig = await rigOf({ backend: { sameSite: 'lax' } })
    expect(await landing(rig.browser(), { 'sec-fetch-site': 'cross-site' })).toBe(page)
  })
})

describe('the callback', () => {
  test('ends in a page of its own origin that continues by itself and leaves no code in the history', async () => {
    const landed = await (await rigOf()).browser().logIn('/agents')
    const html = await landed.text()
    const policy = landed.headers.get('content-security-policy') ?? ''
    const [, nonce] = /script-src 'nonce-([\w-]{22})'/.exec(policy) ?? []
    expect(landed.status).toBe(200)
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; script-src /,
    )
    expect(html.match(/<script.*?<\/script>/gs)).toEqual([
      `<script nonce="${nonce}">location.replace(document.querySelector('a').href)</script>`,
    ])
    expect(html).not.toMatch(/code=|state=/)
    expect(landed.headers.get('referrer-policy')).toBe('no-referrer')
    expect(landed.headers.get('location')).toBeNull()
  })

  test('handled 20 times at once, in two processes, it is one exchange and one session', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    const { pathname, search } = await browser.goToCallback()
    const other = rig.another()
    const request = (): Request => browser.request(pathname + search, {}, 'cross-site')
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, at) => (at % 2 ? other : rig.backend).handle(request())),
    )
    const ids = answers.map((answered) => answered?.headers.getSetCookie()[0])
    expect(new Set(ids).size).toBe(1)
    expect(answers.map((answered) => answered?.status)).toEqual(Array(20).fill(200))
    expect(tokenRequests(rig)).toBe(1)
  })

  test('if the token endpoint was not reached, loading the same page again works once it is', async () => {
    let reachable = false
    const rig = await rigOf()
    const browser = rig.browser(
      rig.another({
        fetch: async (input, init) => {
          if (reachable) return rig.service.fetch(input as string, init)
          const cause = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
          throw new TypeError('fetch failed', { cause })
        },
      }),
    )
    const { pathname, search } = await browser.goToCallback()
    expect((await browser.send(pathname + search, {}, 'cross-site')).status).toBe(503)
    reachable = true
    expect((await browser.send(pathname + search, {}, 'cross-site')).status).toBe(200)
    expect(await browser.status()).toBe('signed-in')
  })

  test('loaded again after the login, it continues with the session', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    const { pathname, search } = await browser.goToCallback()
    await browser.send(pathname + search, {}, 'cross-site')
    const before = browser.session()
    const again = await browser.send(pathname + search)
    expect({ status: again.status, text: await again.text() }).toEqual({
      status: 200,
      text: expect.stringContaining('<a href="/">'),
    })
    expect(browser.session()).toEqual(before)
    const stranger = await rig.browser().send(pathname + search)
    expect(stranger.status).toBe(400)
    expect(tokenRequests(rig)).toBe(1)
  })

  test('a code whose answer was lost is not sent again by any number of loads', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    const { pathname, search } = await browser.goToCallback()
    rig.service.dev.addFault({ match: { path: '/auth/v1/token' }, effect: 'drop-after-commit', times: 1 })
    const load = async (): Promise<number> => (await browser.send(pathname + search, {}, 'cross-site')).status
    expect([await Promise.all([load(), load()]), await load()]).toEqual([[503, 503], 400])
    expect(tokenRequests(rig)).toBe(1)
    expect(browser.cookies.size).toBe(0)
    expect(rig.events.filter(({ type }) => type === 'login_failed')[0]).toMatchObject({ code: 'exchange_interrupted' })
    expect((await browser.logIn()).status).toBe(200)
  })

  test('without the storage the code is not sent: loading the same page works once it is back', async () => {
    let down = false
    const sessions = steppedStorage(() => {
      if (down) throw new Error('ECONNREFUSED')
    })
    const rig = await rigOf({ backend: { sessions } })
    const browser = rig.browser()
    const { pathname, search } = await browser.goToCallback('/agents')
    down = true
    const failed = await browser.send(pathname + search, {}, 'cross-site')
    expect({ status: failed.status, text: await failed.text() }).toEqual({
      status: 503,
      text: expect.stringContaining('storage_failed'),
    })
    expect(tokenRequests(rig)).toBe(0)
    down = false
    expect((await browser.send(pathname + search, {}, 'cross-site')).status).toBe(200)
    expect(await browser.status()).toBe('signed-in')
  })

  test('a session that was not saved does not exist: the page says so, and the browser gets no cookie', async () => {
    let failing = false
    const sessions = steppedStorage((operation) => {
      if (failing && operation === 'setItem') throw new Error('READONLY')
    })
    const rig = await rigOf({ backend: { sessions } })
    const browser = rig.browser()
    failing = true
    const failed = await browser.logIn()
    expect({ status: failed.status, text: await failed.text() }).toEqual({
      status: 503,
      text: expect.stringContaining('storage_failed'),
    })
    expect([...browser.cookies]).toEqual([])
    failing = false
    await browser.logIn()
    expect(await browser.status()).toBe('signed-in')
  })

  test('the page of a failed login shows the text for users, and the message for developers folded', async () => {
    const rig = await rigOf()
    const page = await rig.browser().send('/auth/callback?code=c&state=unknown')
    const html = await page.text()
    const { title, text } = userTexts.flow_not_found
    expect(html).toContain(`<h1>${title}</h1><p>${text}</p>`)
    expect(html.replace(/<details>.*<\/details>/, '')).not.toMatch(/localhost|flow_not_found/)
    expect(html).toMatch(/<details><summary>For developers<\/summary><p>No matching login was found.*flow_not_found/)
  })

  test('the page of a failed login has the colours of the pages of the service, in light and dark', async () => {
    const page = await (await rigOf()).browser().send('/auth/callback?code=c&state=unknown')
    const [, style = ''] = /<style>(.*?)<\/style>/.exec(await page.text()) ?? []
    expect(style).toContain('color-scheme:light dark')
    expect(style).toContain('background:light-dark(#f4f5f7,#0d1117)')
    const hash = createHash('sha256').update(style).digest('base64')
    expect(page.headers.get('content-security-policy')).toContain(`style-src 'sha256-${hash}'`)
  })

  test('each failure has a code of its own and a way to try again', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    const answerTo = async (query: string): Promise<{ status: number; code: string | undefined; link: string }> => {
      const { pathname, searchParams } = await browser.goToCallback('/agents?a=1')
      const url = `${pathname}?${query}&state=${searchParams.get('state')}`
      const answered = await browser.send(url, {}, 'cross-site')
      const html = await answered.text()
      return {
        status: answered.status,
        code: /<code>(\w+)/.exec(html)?.[1],
        link: /href="([^"]*)"/.exec(html)?.[1] ?? '',
      }
    }
    const again = '/auth/login?return_to=%2Fagents%3Fa%3D1'
    expect(await answerTo('error=access_denied&error_description=<script>')).toEqual({
      status: 403,
      code: 'login_denied',
      link: again,
    })
    expect(await answerTo('error=server_error')).toEqual({ status: 400, code: 'login_failed', link: again })
    expect(await answerTo('code=a&code=b')).toEqual({ status: 400, code: 'callback_malformed', link: again })
    expect(await answerTo('code=wrong')).toEqual({ status: 400, code: 'grant_rejected', link: again })
    const page = await browser.send('/auth/callback?code=c&state=unknown')
    expect({ status: page.status, code: /<code>(\w+)/.exec(await page.text())?.[1] }).toEqual({
      status: 400,
      code: 'flow_not_found',
    })
    expect(page.headers.get('content-security-policy')).not.toContain('script-src')
    expect([...browser.cookies]).toEqual([])
  })

  test('an app may show failures itself', async () => {
    const rig = await rigOf({ backend: { errorPath: '/sorry' } })
    const answered = await rig.browser().send('/auth/callback?code=c&state=unknown')
    expect({ status: answered.status, location: answered.headers.get('location') }).toEqual({
      status: 303,
      location: '/sorry?code=flow_not_found',
    })
  })

  test('ten minutes later the login is over', async () => {
    const now = { ms: Date.UTC(2026, 0, 1) }
    const rig = await rigOf({ backend: { clock: { wallMs: () => now.ms, monotonicMs: () => now.ms } } })
    const browser = rig.browser()
    const { pathname, search } = await browser.goToCallback()
    now.ms += 600_001
    const answered = await browser.send(pathname + search, {}, 'cross-site')
    expect({ status: answered.status, text: await answered.text() }).toEqual({
      status: 400,
      text: expect.stringContaining('flow_expired'),
    })
    expect(tokenRequests(rig)).toBe(0)
  })
})

describe('every response', () => {
  test('is kept by no cache and depends on the cookie, for every route and outcome', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    const { pathname, search } = await browser.goToCallback()
    const answers = [
      await browser.send('/auth/session'),
      await browser.send('/auth/login'),
      await browser.send('/auth/login', { headers: { 'sec-purpose': 'prefetch' } }),
      await browser.send('/auth/callback'),
      await browser.send(pathname + search, {}, 'cross-site'),
      await browser.send('/auth/session'),
      await browser.call(),
      await browser.call(undefined, { headers: { 'sec-fetch-site': 'cross-site' } }),
      await browser.send('/auth/logout'),
      await browser.send('/auth/logout', { method: 'POST' }),
      await browser.logOut(),
      await browser.call(),
      await browser.send('/auth/login', { method: 'POST' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([
      200, 302, 503, 400, 200, 200, 200, 403, 405, 403, 200, 401, 405,
    ])
    for (const { headers } of answers) {
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('vary')).toMatch(/(^|, )Cookie$/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
    }
  })
})

describe('CSRF protection', () => {
  const attacks: [string, RequestInit][] = [
    [
      'a form',
      {
        headers: {
          origin: 'https://evil.example',
          'sec-fetch-site': 'cross-site',
          'content-type': 'application/x-www-form-urlencoded',
        },
      },
    ],
    ['a text/plain JSON body', { headers: { origin: 'https://evil.example', 'content-type': 'text/plain' } }],
    ['a no-cors fetch', { headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' } }],
    [
      'a sibling subdomain',
      { headers: { ...guard, origin: 'https://other.demo.example', 'sec-fetch-site': 'same-site' } },
    ],
    ['a sibling that hides its metadata', { headers: { 'x-agent-auth': '1', origin: 'https://other.demo.example' } }],
    ['another port', { headers: { 'x-agent-auth': '1', origin: 'https://app.demo.example:8443' } }],
    ['another scheme', { headers: { 'x-agent-auth': '1', origin: 'http://app.demo.example' } }],
    ['an opaque origin', { headers: { 'x-agent-auth': '1', origin: 'null' } }],
    ['same-origin metadata with a foreign origin', { headers: { ...guard, origin: 'https://evil.example' } }],
    ['an address typed by hand', { headers: { 'x-agent-auth': '1', 'sec-fetch-site': 'none' } }],
    ['nothing that says who asks', { headers: { 'x-agent-auth': '1' } }],
    ['no fixed header', { headers: { origin: 'https://app.demo.example', 'sec-fetch-site': 'same-origin' } }],
    ['another value of the fixed header', { headers: { ...guard, 'x-agent-auth': '1, 1' } }],
  ]
  test.each(attacks)('%s reaches nothing and ends no session', async (_, { headers = {} }) => {
    const rig = await rigOf({ backend: { sameSite: 'lax', proxy: ['POST /api/llm_models/search', 'GET /api/x'] } })
    const browser = rig.browser()
    await browser.logIn()
    const before = rig.sent.length
    for (const [method, path] of [
      ['POST', '/api/llm_models/search'],
      ['GET', '/api/x'],
      ['POST', '/auth/logout'],
    ] as const) {
      const answered = await browser.send(path, { method, headers })
      expect({ status: answered.status, body: await answered.json() }).toMatchObject({
        status: 403,
        body: { code: 'origin_forbidden' },
      })
      expect(answered.headers.get('access-control-allow-origin')).toBeNull()
    }
    expect(rig.sent).toHaveLength(before)
    expect(await browser.status()).toBe('signed-in')
  })

  test.each([[{ 'sec-fetch-site': 'same-origin' }], [{ origin: 'https://app.demo.example' }]])(
    'a page of this origin passes with %o and the fixed header',
    async (proof) => {
      const browser = (await rigOf()).browser()
      await browser.logIn()
      const headers = { 'x-agent-auth': '1', 'content-type': 'application/json', ...proof }
      const body = '{"limit":1,"offset":0}'
      expect((await browser.send('/api/llm_models/search', { method: 'POST', headers, body })).status).toBe(200)
      expect((await browser.send('/auth/logout', { method: 'POST', headers })).status).toBe(200)
    },
  )

  test('another site cannot read the session, and a CORS preflight gets no response of the backend', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    for (const site of ['cross-site', 'same-site'])
      expect((await browser.send('/auth/session', { headers: { 'sec-fetch-site': site } })).status).toBe(403)
    const asked = browser.request('/api/llm_models/search', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example' },
    })
    expect(await rig.backend.handle(asked)).toBeNull()
  })
})
