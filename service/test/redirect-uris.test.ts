import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyText } from '../../test/support/any-text.ts'
import { leastMs } from '../../test/support/least-ms.ts'
import { callbackUrl } from '../src/authorize/consent.tsx'
import {
  matchesRegistered,
  pageOriginsOf,
  refuseRedirectUri,
  refuseRegistration,
  registeredPageOrigin,
} from '../src/redirect-uris.ts'
import { authorizeUrl, Browser, clientOf } from './support/login.ts'
import { createService } from './support/start.ts'

const registered = 'http://127.0.0.1/a/cb'

test.each([
  'HTTP://127.0.0.1/a/cb',
  'http://LOCALHOST/a/cb',
  'http://localhost/a/cb',
  'http://127.1/a/cb',
  'http://2130706433/a/cb',
  'http://0x7f.1/a/cb',
  'http://127.0.0.1./a/cb',
  'http://[::ffff:127.0.0.1]/a/cb',
  'http://127.0.0.1/b/../a/cb',
  'http://127.0.0.1/a/cb?',
  'http://127.0.0.1/a/cb/',
  'http://127.0.0.1/a/%63b',
  'http://user@127.0.0.1/a/cb',
  'http://127.0.0.1:0/a/cb',
  'http://127.0.0.1:99999/a/cb',
  'http://127.0.0.1:80@evil.example/a/cb',
  'http://[::1]/a/cb',
  'https://127.0.0.1/a/cb',
])('%s is another text than the registered one', (sent) => {
  expect(matchesRegistered(sent, registered, 'public')).toBe(false)
})

test('only the port of a public loopback literal is free', () => {
  expect(matchesRegistered('http://127.0.0.1:61234/a/cb', registered, 'public')).toBe(true)
  expect(matchesRegistered('http://127.0.0.1:61234/a/cb', registered, 'confidential')).toBe(false)
  expect(matchesRegistered('https://x.example:1/cb', 'https://x.example/cb', 'public')).toBe(false)
})

test('the authorize endpoint refuses what does not match, with a page and without a Location', async () => {
  const service = await createService()
  const client = clientOf(service, 'Demo confidential')
  for (const redirectUri of ['http://127.0.0.1:61234/auth/callback', 'https://app.demo.example/callback/']) {
    const page = await new Browser(service.fetch).get(authorizeUrl(service, { client, redirectUri }).url)
    expect({ status: page.status, next: page.next }).toEqual({ status: 400, next: undefined })
  }
  await service.close()
})

test.each([
  'javascript:alert(1)',
  'data:text/html,x',
  'file:///etc/passwd',
  'http://example.com/cb',
  'http://localhost:3000/cb',
  'https://*.x/cb',
  'https://x/#a',
  'https://user@x/cb',
  'https://x/\u0001',
  'https:///cb',
  `https://x/${'a'.repeat(2_100)}`,
])('%s cannot be registered', async (uri) => {
  expect(refuseRegistration([uri])).toContain('cannot be a redirect URI')
  await expect(createService({ redirectUris: [uri] })).rejects.toThrow('cannot be a redirect URI')
})

test('a client has 1 to 10 redirect URIs', () => {
  const many = Array.from({ length: 11 }, (_, index) => `https://x.example/${index}`)
  expect(refuseRegistration([])).toBeDefined()
  expect(refuseRegistration(many)).toBeDefined()
  expect(refuseRegistration(many.slice(1))).toBeUndefined()
  expect(refuseRegistration(['http://[::1]:8080/cb', 'http://127.0.0.1/cb'])).toBeUndefined()
})

const numRuns = 2_000

/** RFC 3986 by hand: https to some host, or http to a loopback literal; no userinfo, no fragment, no wildcard. */
const registrable = /^(?:https:\/\/[^/?#@\\*]+|http:\/\/(?:127\.0\.0\.1|\[::1\])(?::[1-9]\d{0,4})?)(?:[/?][^#@\\*]*)?$/

const piece = fc.constantFrom(
  ...['https://', 'http://', 'HTTPS://', 'javascript:', '//', 'app.example', '127.0.0.1', '[::1]', 'localhost', '[::'],
  ...[
    ':',
    ':0',
    ':1',
    ':65535',
    ':65536',
    ':99999',
    '/',
    '/cb',
    '?',
    '?a=b',
    '&',
    '#',
    '@',
    'user@',
    '\\',
    '*',
    '%',
    '%2e',
  ],
  ...['..', '\t', '\n', ' ', '\u0000', 'é', '\u202e', '[', ']', '^', '|', '"', '<'],
)
const anyUri = fc.oneof(
  fc.array(piece, { maxLength: 7 }).map((parts) => parts.join('')),
  fc
    .tuple(
      fc.constantFrom('https://app.example/', 'http://127.0.0.1', 'http://[::1]:8080/'),
      fc.array(piece, { maxLength: 4 }),
    )
    .map(([start, parts]) => start + parts.join('')),
  anyText(30),
)

test('only what the rules allow is registered, and the answer goes where the text says', () => {
  const value = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(anyUri, value, fc.option(value, { nil: null }), (uri, code, state) => {
      const refusal = refuseRedirectUri(uri)
      const allowed = /^[\x21-\x7e]{1,2048}$/.test(uri) && registrable.test(uri) && URL.canParse(uri)
      const port = Number(/^http:\/\/[^/?]*?:(\d+)(?:[/?]|$)/.exec(uri)?.[1] ?? 0)
      expect({ uri, isRegistered: refusal === undefined }).toEqual({ uri, isRegistered: allowed && port <= 65_535 })
      if (refusal !== undefined) return
      const back = callbackUrl(uri, { code }, state === null ? null : encodeURIComponent(state))
      const [registered, url] = [new URL(uri), new URL(back)]
      expect(back.startsWith(uri)).toBe(true)
      expect({ origin: url.origin, pathname: url.pathname, hash: url.hash }).toEqual({
        origin: registered.origin,
        pathname: registered.pathname,
        hash: '',
      })
      const own = [...registered.searchParams]
      // A query that ends in `&` has nothing behind it; any other is followed by ours.
      expect([...url.searchParams]).toEqual([...own, ['code', code], ...(state === null ? [] : [['state', state]])])
    }),
    { numRuns },
  )
})

test('only the same text matches, or another port of a public loopback literal', () => {
  const kind = fc.constantFrom('public' as const, 'confidential' as const)
  const path = fc.constantFrom('', '/', '/cb', '/cb?a=b', '?a=b', '/a/../cb', '/CB', '/%63b')
  const host = fc.constantFrom('127.0.0.1', '[::1]', 'localhost', '127.1', 'app.example')
  const port = fc.constantFrom('', ':1', ':8080', ':65535', ':65536', ':0', ':08080', ':', ':80@evil.example')
  const loopback = fc
    .tuple(fc.constantFrom('http', 'https', 'HTTP'), host, port, path)
    .map(([scheme, name, at, rest]) => `${scheme}://${name}${at}${rest}`)
  const pair = fc.oneof(
    fc.tuple(loopback, loopback),
    fc
      .tuple(host, port, port, path)
      .map(([name, one, other, rest]): [string, string] => [
        `http://${name}${one}${rest}`,
        `http://${name}${other}${rest}`,
      ]),
    fc
      .tuple(host, host, port, path)
      .map(([one, other, at, rest]): [string, string] => [`http://${one}${at}${rest}`, `http://${other}${at}${rest}`]),
    fc.tuple(anyUri, anyUri),
    anyUri.map((uri): [string, string] => [uri, uri]),
  )
  fc.assert(
    fc.property(pair, kind, ([sent, registered], of) => {
      fc.pre(refuseRedirectUri(registered) === undefined)
      // The registered text with its port taken out, and that of the other cut out of what was sent.
      const [, start, rest] = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]))(?::\d+)?(.*)$/.exec(registered) ?? []
      const between = start !== undefined && sent.startsWith(start) && sent.endsWith(rest ?? '')
      const middle = between ? sent.slice(start.length, sent.length - (rest ?? '').length) : undefined
      const isPort = middle === '' || (/^:[1-9]\d*$/.test(middle ?? '') && Number(middle?.slice(1)) <= 65_535)
      const expected = sent === registered || (of === 'public' && isPort)
      expect({ sent, registered, of, isMatch: matchesRegistered(sent, registered, of) }).toEqual({
        sent,
        registered,
        of,
        isMatch: expected,
      })
    }),
    { numRuns },
  )
})

test('the origins that may finish a login are those of the redirect URIs that authorize accepts', () => {
  const uris = ['http://127.0.0.1/cb', 'http://127.0.0.1:5173/cb', 'http://[::1]/cb', 'https://app.example/cb']
  const origins = ['http://127.0.0.1', 'http://127.0.0.1:1', 'http://127.0.0.1:5199', 'http://[::1]:5199']
  const others = ['https://app.example', 'https://app.example:5199', 'https://127.0.0.1:5199', 'http://localhost:5199']
  const noOrigins = [
    'null',
    '',
    'http://127.0.0.1:*',
    'http://127.0.0.1:80',
    'http://127.0.0.1:0',
    'http://127.0.0.1:65536',
  ]
  const spelt = [
    'http://127.0.0.1:5199/',
    'http://127.0.0.1:5199/cb',
    'http://127.1:5199',
    'http://127.0.0.1.evil.example',
  ]
  for (const registered of uris) {
    for (const kind of ['public', 'confidential'] as const) {
      const expected = [...origins, ...others].filter((origin) => matchesRegistered(`${origin}/cb`, registered, kind))
      const allowed = [...origins, ...others, ...noOrigins, ...spelt].filter((origin) => {
        return Object.values(pageOriginsOf(origin) ?? {}).includes(registeredPageOrigin(registered, kind))
      })
      expect({ registered, kind, allowed }).toEqual({ registered, kind, allowed: expected })
    }
  }
})

test.each(['a', '/', '?', '&', '%', '1', ':1', '[', '.'])('100 KB of %j take less than 50 ms', async (unit) => {
  const long = unit.repeat(Math.ceil(100_000 / unit.length))
  for (const uri of [long, `https://${long}`, `http://127.0.0.1${long}`, `http://127.0.0.1/${long}`]) {
    expect(await leastMs(() => refuseRedirectUri(uri))).toBeLessThan(50)
    expect(await leastMs(() => matchesRegistered(uri, `${uri}b`, 'public'))).toBeLessThan(50)
  }
})
