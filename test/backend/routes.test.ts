// The option proxy and its paths.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchRoute, proxyRoutes } from '../../src/backend/proxy/allowed-routes.ts'
import { anyText } from '../support/any-text.ts'
import { leastMs } from '../support/least-ms.ts'

const numRuns = 1_000
const templates = ['GET /api/items/:id', 'GET /api/items/:id/parts/:part', 'GET /api/:kind/all', 'POST /api/items']
const routes = proxyRoutes(templates, '/auth')
const api = 'https://api.example.com'
/** Text that a decoded parameter must not contain, because it can be read as other segments. */
const unplain = /^[.\s]*$|[/\\;%?#]|\p{C}/u
/** Returns the texts that an API may read: the parameter itself and its normalized form. */
const readings = (text: string): string[] => [text, text.normalize('NFKC')]

/** Returns the path of a `Request`, in which the URL parser has resolved dot segments. */
const pathname = (path: string): string => new URL(`${api}${path}`).pathname

const encoded = (text: string, spelling: readonly number[]): string =>
  [...text]
    .map((character, at) => {
      if (spelling[at % spelling.length] === 0 || character === '.') return encodeURIComponent(character)
      const hex = [...new TextEncoder().encode(character)]
        .map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
        .join('')
      return spelling[at % spelling.length] === 1 ? hex : hex.toUpperCase()
    })
    .join('')

test('a plain parameter in any spelling arrives as itself, in one spelling', () => {
  const text = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
    .filter((one) => !readings(one).some((read) => unplain.test(read)))
  const spelling = fc.array(fc.nat(2), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(text, text, spelling, (id, part, how) => {
      const match = matchRoute(routes, 'GET', pathname(`/api/items/${encoded(id, how)}/parts/${encoded(part, how)}`))
      expect(match?.path).toBe(`/api/items/${encodeURIComponent(id)}/parts/${encodeURIComponent(part)}`)
      expect(match?.route.template).toBe(templates[1])
    }),
    { numRuns },
  )
})

test('any path that passes has a listed form, and every reader decodes the text that came', () => {
  const pieces = [
    '/',
    '.',
    '..',
    '%2e',
    '%2E',
    '%2f',
    '%5c',
    '\\',
    ';',
    '%3b',
    '%25',
    '%252f',
    '%00',
    '%',
    '%zz',
    '%ff',
  ]
  const words = [
    'api',
    'items',
    'parts',
    'all',
    '7',
    'a b',
    'é',
    '%C3%A9',
    '//',
    '?',
    '#',
    ':',
    '@',
    '%0d%0a',
    '\t',
    '+',
  ]
  const segment = fc.array(fc.constantFrom(...pieces, ...words), { maxLength: 4 }).map((parts) => parts.join(''))
  const path = fc.oneof(
    segment.map((one) => `/api/items/${one}`),
    fc.tuple(segment, segment).map(([one, other]) => `/api/items/${one}/parts/${other}`),
    fc.array(segment, { maxLength: 6 }).map((all) => `/${all.join('/')}`),
    anyText(20).map((text) => `/api/items/${text}`),
  )
  // The path as a socket delivers it, and as a URL resolves it.
  fc.assert(
    fc.property(path, fc.boolean(), (raw, isParsed) => {
      const came = isParsed ? pathname(raw) : raw
      const match = matchRoute(routes, 'GET', came)
      if (match?.path === undefined) return
      const [sent, given, expected] = [match.path.split('/'), came.split('/'), match.route.segments]
      expect(pathname(match.path)).toBe(match.path)
      expect({ sentCount: sent.length, givenCount: given.length }).toEqual({
        sentCount: expected.length,
        givenCount: expected.length,
      })
      for (const [at, template] of expected.entries()) {
        if (!template.startsWith(':'))
          expect({ sent: sent[at], given: given[at] }).toEqual({ sent: template, given: template })
        else expect(decodeURIComponent(sent[at] ?? '')).toBe(decodeURIComponent(given[at] ?? ''))
        if (template.startsWith(':'))
          for (const read of readings(decodeURIComponent(sent[at] ?? ''))) expect(read).not.toMatch(unplain)
      }
    }),
    { numRuns },
  )
})

test.each(['/', '.', '%2e', '%', '%C3%A9', 'a', '%25', ';', '%EF%BC%8F', '%EF%B7%BA'])(
  '100 KB of %j take less than 50 ms',
  async (unit) => {
    const long = unit.repeat(Math.ceil(100_000 / unit.length))
    for (const path of [`/${long}`, `/api/items/${long}`, `/api/items/a${long}/parts/x`])
      expect(await leastMs(() => matchRoute(routes, 'GET', path))).toBeLessThan(50)
  },
)
