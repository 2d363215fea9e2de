// The parser of cookies: src/backend/cookies.ts.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readCookies } from '../../src/backend/cookies.ts'
import { leastMs } from '../support/least-ms.ts'

const numRuns = 2_000
const read = (cookie: string): [name: string, value: string][] => [...readCookies({ headers: new Headers({ cookie }) })]

const blanks = fc.stringMatching(/^[ \t]{0,3}$/)
const name = fc.oneof(
  fc.stringMatching(/^[\w!#$%&'*+.^`|~-]{1,8}$/),
  fc.constantFrom('__Host-agent-auth', '__proto__', 'a'),
)
/** RFC 6265 section 4.1.1, and the equals signs and inner blanks that browsers send besides. */
const value = fc.stringMatching(/^(?:[\w!#-+./:<-[\]^`{|}~-](?:[\w=\t -]{0,6}[\w=])?)?$/)

test('cookies that follow the grammar are read as written, the first of each name', () => {
  const cookies = fc.array(fc.tuple(name, value, blanks, blanks, blanks, blanks), { maxLength: 6 })
  fc.assert(
    fc.property(cookies, (all) => {
      const header = all.map(([key, text, a, b, c, d]) => `${a}${key}${b}=${c}${text}${d}`).join(';')
      const first = new Map(all.map(([key, text]) => [key, text] as const).reverse())
      expect({ header, cookies: new Map(read(header)) }).toEqual({ header, cookies: first })
    }),
    { numRuns },
  )
})

/** Reads cookies character by character, without a regular expression. */
function byHand(header: string): [name: string, value: string][] {
  const seen = new Map<string, string>()
  const isBlank = (character: string | undefined): boolean => character === ' ' || character === '\t'
  const cut = (text: string): string => {
    let [start, end] = [0, text.length]
    while (start < end && isBlank(text[start])) start += 1
    while (end > start && isBlank(text[end - 1])) end -= 1
    return text.slice(start, end)
  }
  for (const pair of header.split(';')) {
    const [first = '', ...rest] = pair.split('=')
    if (rest.length > 0 && first !== '' && !seen.has(cut(first))) seen.set(cut(first), cut(rest.join('=')))
  }
  return [...seen]
}

test('of any bytes no cookie is invented, and no blank but space and tab is removed', () => {
  const byte = fc.integer({ min: 1, max: 255 }).map((code) => String.fromCharCode(code))
  const pieces = fc.constantFrom(';', '=', ' ', '\t', '\u00a0', '\u000b', '"', ',', 'a', 'b', '__Host-agent-auth')
  const header = fc.oneof(
    fc.array(pieces, { maxLength: 14 }).map((parts) => parts.join('')),
    fc.string({ unit: byte, maxLength: 30 }),
  )
  fc.assert(
    fc.property(header, (text) => {
      fc.pre(!/[\r\n]/.test(text))
      // Headers removes the outer blanks of a value.
      const sent = new Headers({ cookie: text }).get('cookie') ?? ''
      expect({ text, cookies: read(text) }).toEqual({ text, cookies: byHand(sent) })
    }),
    { numRuns },
  )
})

test.each([' ', '\t', ';', '=', 'a', 'a=b;', 'a ', '= ', ' ;'])('100 KB of %j take less than 50 ms', async (unit) => {
  const long = unit.repeat(Math.ceil(100_000 / unit.length))
  for (const header of [long, `a=b${long}c`, `a${long}=b`]) {
    const headers = new Headers({ cookie: header })
    expect(await leastMs(() => readCookies({ headers }))).toBeLessThan(50)
  }
})
