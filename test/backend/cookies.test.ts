import { describe, expect, test } from 'vitest'
import { guard } from '../support/backend-rig.ts'
import { rigOf } from '../support/rig-of.ts'

/** Replaces one character by another of the same alphabet. */
function flipped(text: string, at: number): string {
  return `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
}

describe('the session cookie', () => {
  test('is __Host-, Secure, HttpOnly and Strict, and is removed by the same line', async () => {
    const browser = (await rigOf()).browser()
    await browser.logIn()
    const [name, value] = browser.session()
    expect(name).toBe('__Host-agent-auth')
    expect(value).toMatch(/^[\da-z]{6,7}\.[\w-]{43}$/)
    const attributes = '; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age='
    expect(browser.lines).toContain(`${name}=${value}${attributes}2592000`)
    await browser.logOut()
    expect(browser.lines.at(-1)).toBe(`${name}=${attributes}0`)
  })

  test('is Lax only when asked for, and lives as long as the session may', async () => {
    const rig = await rigOf({ backend: { sameSite: 'lax', sessionLifeMs: 3_600_000 } })
    const browser = rig.browser()
    await browser.logIn()
    expect(browser.lines.find((line) => line.startsWith('__Host-agent-auth='))).toMatch(
      /; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=3600$/,
    )
  })

  test('a session older than its longest life has ended on the server as well', async () => {
    const now = { ms: Date.UTC(2026, 0, 1) }
    const clock = { wallMs: () => now.ms, monotonicMs: () => now.ms }
    const rig = await rigOf({ backend: { sessionLifeMs: 3_600_000, clock } })
    const browser = rig.browser()
    await browser.logIn()
    now.ms += 3_599_000
    expect(await browser.status()).toBe('signed-in')
    now.ms += 1_000
    expect((await browser.call()).status).toBe(401)
    expect(await browser.status()).toBe('signed-out')
    expect((await rig.backend.getSession(browser.request('/'))).status).toBe('signed-out')
  })

  test('one process whose clock is a month ahead refuses a session, and does not end it for others', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    await browser.logIn()
    const ahead = { wallMs: () => Date.now() + 31 * 86_400_000, monotonicMs: () => performance.now() }
    const wrong = rig.browser(rig.another({ clock: ahead }))
    wrong.setCookie(...browser.session())
    expect(await wrong.status()).toBe('signed-out')
    expect((await wrong.call()).status).toBe(401)
    expect((await wrong.send('/auth/callback?code=c&state=unknown')).status).toBe(400)
    expect(wrong.lines).toEqual([])
    const elsewhere = rig.browser(rig.another())
    elsewhere.setCookie(...browser.session())
    expect(await elsewhere.status()).toBe('signed-in')
  })

  test.each([
    ['http://127.0.0.1:3000/auth/callback', 'agent-auth-3000'],
    ['http://[::1]:3000/auth/callback', 'agent-auth-3000'],
    ['http://127.0.0.1/auth/callback', 'agent-auth'],
  ])('on %s it has no Secure and no prefix', async (redirectUri, name) => {
    const browser = (await rigOf({ backend: { redirectUri } })).browser()
    await browser.logIn()
    expect(browser.session()[0]).toBe(name)
    expect(browser.lines.filter((line) => /secure|__host/i.test(line))).toEqual([])
    expect(await browser.status()).toBe('signed-in')
  })

  test('hostile Host and forwarded headers change neither redirect URI nor cookies', async () => {
    const rig = await rigOf()
    const hostile = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'http',
      forwarded: 'host=evil.example;proto=http',
      'x-original-url': '//evil.example/',
    }
    for (const origin of ['http://evil.example', 'http://localhost:1']) {
      const answered = await rig.backend.handle(new Request(`${origin}/auth/login`, { headers: hostile }))
      const to = new URL(answered?.headers.get('location') ?? '')
      expect(to.origin).toBe(rig.service.authUrl)
      expect(to.searchParams.get('redirect_uri')).toBe('https://app.demo.example/auth/callback')
      expect(answered?.headers.getSetCookie()).toEqual([expect.stringMatching(/^__Host-.*; Secure; Max-Age=600$/)])
      expect(answered?.headers.getSetCookie().join()).not.toMatch(/domain|evil/i)
    }
  })

  test('of logins with long return URLs fewer are kept, so that no server refuses the cookies', async () => {
    const browser = (await rigOf()).browser()
    await browser.logIn()
    const states: (string | null)[] = []
    for (let at = 0; at < 8; at++)
      states.push((await browser.goToCallback(`/${'a'.repeat(1_000)}`)).searchParams.get('state'))
    const kept = [...browser.cookies.keys()].filter((name) => name.includes('-login-'))
    expect(kept.map((name) => name.slice(-43))).toEqual(states.slice(-3))
    expect(browser.cookieHeader().length).toBeLessThan(7_400)
    expect((await browser.call()).status).toBe(200)
  })

  test('with any byte changed, cut or added means signed out', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    await browser.logIn()
    const [name, value] = browser.session()
    const forged = [
      ...Array.from(value, (_, at) => flipped(value, at)),
      ...Array.from(value, (_, at) => value.slice(0, at)),
      `${value}A`,
      `"${value}"`,
      value.toUpperCase(),
      '%00',
      '__proto__',
      `${'9'.repeat(400)}.${value.slice(-43)}`,
    ]
    for (const one of forged) {
      browser.setCookie(name, one)
      expect(await rig.backend.getSession(browser.request('/'))).toEqual({ signedIn: false, status: 'signed-out' })
      expect((await browser.call()).status).toBe(401)
    }
    for (const one of [forged[0] ?? '', 'A']) {
      browser.setCookie(name, one)
      expect(await browser.status()).toBe('signed-out')
    }
    expect(rig.sent.filter(({ headers }) => headers.get('authorization')?.startsWith('Bearer'))).toEqual([])
    browser.setCookie(name, value)
    expect(await browser.status()).toBe('signed-in')
  })

  test.each(['\u00a0', '\u000b', '\u000c'])(
    'a sibling subdomain cannot plant it by a name that begins with %j',
    async (space) => {
      const rig = await rigOf()
      const [attacker, victim] = [rig.browser(), rig.browser()]
      await attacker.logIn()
      await victim.logIn()
      const [name, planted] = attacker.session()
      const cookie = `${space}${name}=${planted}; ${victim.cookieHeader()}`
      const [seen, own] = await Promise.all(
        [cookie, victim.cookieHeader()].map((header) =>
          rig.backend.getSession({ headers: new Headers({ cookie: header }) }),
        ),
      )
      expect(own?.status).toBe('signed-in')
      expect(seen).toMatchObject({ key: (own as { key: string }).key })
    },
  )

  test('a key from the storage opens no session, because it is not the cookie', async () => {
    const items = new Map<string, string>()
    const sessions = {
      getItem: (name: string) => items.get(name),
      setItem: (name: string, value: string) => void items.set(name, value),
      removeItem: (name: string) => void items.delete(name),
    }
    const browser = (await rigOf({ backend: { sessions } })).browser()
    await browser.logIn()
    const [, value] = browser.session()
    expect(items.size).toBe(1)
    for (const text of [...items].flat()) {
      expect(text).not.toContain(value)
      expect(text).not.toContain(value.slice(-43))
    }
  })
})

describe('the login cookie', () => {
  test('is encrypted, Lax, valid for ten minutes, one for each state, and removed at the callback', async () => {
    const browser = (await rigOf()).browser()
    const { searchParams, pathname, search } = await browser.goToCallback()
    const [[name, { value }] = fail()] = browser.cookies
    expect(name).toBe(`__Host-agent-auth-login-${searchParams.get('state')}`)
    expect(browser.lines).toEqual([`${name}=${value}; Path=/; HttpOnly; SameSite=Lax; Secure; Max-Age=600`])
    expect(value.split('.')).toHaveLength(5)
    await browser.send(pathname + search, {}, 'cross-site')
    expect([...browser.cookies.keys()]).toEqual(['__Host-agent-auth'])
  })

  test('text that cannot be a state names no cookie to remove', async () => {
    const browser = (await rigOf()).browser()
    for (const state of ['', 'short', `${'x'.repeat(30)};domain=evil.example`, 'x'.repeat(30).concat('\r\na:b')]) {
      const answered = await browser.send(`/auth/callback?code=c&state=${encodeURIComponent(state)}`)
      expect({ status: answered.status, cookies: answered.headers.getSetCookie() }).toEqual({
        status: 400,
        cookies: [],
      })
    }
  })

  test('another base path on one loopback host has cookies of its own', async () => {
    const redirectUri = 'http://127.0.0.1:3000/apps/one/callback'
    const rig = await rigOf({ backend: { redirectUri, basePath: '/apps/one' } })
    const started = await rig.backend.handle(new Request('http://127.0.0.1:3000/apps/one/login'))
    const [line = ''] = started?.headers.getSetCookie() ?? []
    expect(line).toMatch(/^agent-auth-3000-login-[\w-]{43}\+apps\+one=/)
  })

  test('logins in three tabs end in another order, each at its own place', async () => {
    const browser = (await rigOf()).browser()
    const started: [string, URL][] = []
    for (const place of ['/a', '/b', '/c']) started.push([place, await browser.goToCallback(place)])
    for (const at of [2, 0, 1]) {
      const [place, { pathname, search }] = started[at] ?? fail()
      const landed = await browser.send(pathname + search, {}, 'cross-site')
      expect(await landed.text()).toContain(`href="${place}"`)
    }
    expect(await browser.status()).toBe('signed-in')
    expect(browser.cookies.size).toBe(1)
  })

  test('with any byte changed, or from another state, the login is unknown, and no code is sent', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    const { pathname, search } = await browser.goToCallback()
    const [[name, { value }] = fail()] = browser.cookies
    await browser.goToCallback()
    const other = [...browser.cookies.values()].at(-1)?.value ?? ''
    const forged = [...Array.from(value, (_, at) => flipped(value, at)), value.slice(0, -1), '', 'a.b.c.d.e', other]
    // The last character of base64url may hold unused bits.
    const same = forged.filter((text) => text !== value && sameBytes(text, value))
    for (const one of forged.filter((text) => !same.includes(text))) {
      browser.setCookie(name, one, 'Lax')
      expect((await browser.send(pathname + search, {}, 'cross-site')).status).toBe(400)
      expect([...browser.cookies.keys()]).not.toContain(name)
    }
    expect(new Set(rig.events.map((event) => ('code' in event ? event.code : event.type)))).toEqual(
      new Set(['login_started', 'flow_not_found']),
    )
    expect(rig.sent).toEqual([])
    browser.setCookie(name, value, 'Lax')
    expect((await browser.send(pathname + search, {}, 'cross-site')).status).toBe(200)
  })

  test('secrets rotate: the first encrypts, all decrypt, and without the right one there is no login', async () => {
    const [old, young] = ['the-old-secret-of-this-test-0123456789', 'the-new-secret-of-this-test-0123456789']
    const rig = await rigOf({ backend: { secrets: [old] } })
    const rotated = rig.another({ secrets: [young, old] })
    for (const [backend, status] of [
      [rotated, 200],
      [rig.another({ secrets: [young] }), 400],
    ] as const) {
      const before = rig.browser()
      const { pathname, search } = await before.goToCallback()
      const after = rig.browser(backend)
      for (const [name, { value }] of before.cookies) after.setCookie(name, value, 'Lax')
      expect((await after.send(pathname + search, {}, 'cross-site')).status).toBe(status)
    }
    const browser = rig.browser(rotated)
    await browser.goToCallback()
    const header = (sealed = ''): { kid: string } =>
      JSON.parse(Buffer.from(sealed.split('.')[0] ?? '', 'base64url').toString())
    const { kid, ...rest } = header(browser.cookie('login'))
    expect(rest).toEqual({ alg: 'dir', enc: 'A256GCM', ctx: 'login' })
    const first = rig.browser()
    await first.goToCallback()
    expect(header(first.cookie('login')).kid).not.toBe(kid)
  })

  test('sessions do not depend on the secrets: none ends when all of them change', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    await browser.logIn()
    const after = rig.browser(rig.another({ secrets: ['quite-another-secret-0123456789012345'] }))
    after.setCookie(...browser.session())
    expect(await after.status()).toBe('signed-in')
  })

  test('no cookie is over 4096 bytes for any return URL; a login that cannot fit fails with config_invalid', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    for (const length of [1, 100, 1_000, 1_024, 1_025, 4_000, 100_000])
      for (const place of ['ä'.repeat(length / 2), 'a'.repeat(length)])
        expect((await browser.send(`/auth/login?return_to=/${place}`)).status).toBe(302)
    expect(Math.max(...browser.lines.map((line) => line.length))).toBeLessThanOrEqual(4_096)
    const odd = rig.browser(rig.another({ clientId: 'c'.repeat(4_000) }))
    const answered = await odd.send('/auth/login')
    expect({ status: answered.status, body: await answered.json() }).toMatchObject({
      status: 502,
      body: { code: 'config_invalid' },
    })
    expect(odd.lines).toEqual([])
  })
})

describe('a new login', () => {
  test('has a new id, and a planted one or the earlier one opens nothing', async () => {
    const rig = await rigOf()
    const attacker = rig.browser()
    await attacker.logIn()
    const [name, planted] = attacker.session()
    const victim = rig.browser()
    victim.setCookie(name, planted)
    await victim.logIn()
    expect(victim.session()[1]).not.toBe(planted)
    expect(await victim.status()).toBe('signed-in')
    expect(await attacker.status()).toBe('signed-out')

    const made = `${Math.floor(Date.now() / 1_000).toString(36)}.${'A'.repeat(43)}`
    victim.setCookie(name, made)
    await victim.logIn()
    const again = rig.browser()
    again.setCookie(name, made)
    expect(await again.status()).toBe('signed-out')
  })

  test('a login that fails leaves the earlier session as it was', async () => {
    const rig = await rigOf()
    const browser = rig.browser()
    await browser.logIn()
    const before = browser.session()
    const { pathname, searchParams } = await browser.goToCallback()
    const denied = `${pathname}?error=access_denied&state=${searchParams.get('state')}`
    expect((await browser.send(denied, {}, 'cross-site')).status).toBe(403)
    expect(browser.session()).toEqual(before)
    expect(await browser.status()).toBe('signed-in')
    expect((await browser.send('/auth/logout', { method: 'POST', headers: guard })).status).toBe(200)
  })
})

function sameBytes(a: string, b: string): boolean {
  const parts = (text: string): string[] =>
    text.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'))
  return JSON.stringify(parts(a)) === JSON.stringify(parts(b))
}

function fail(): never {
  throw new Error('Nothing there.')
}
