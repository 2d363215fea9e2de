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

test.each([' ', '\t', ';', '=', 'a', 'a=b;', 'a ', '= ', ' ;'])('100 KB of %j take less than 50 ms', async (unit) => {
  const long = unit.repeat(Math.ceil(100_000 / unit.length))
  for (const header of [long, `a=b${long}c`, `a${long}=b`]) {
    const headers = new Headers({ cookie: header })
    expect(await leastMs(() => readCookies({ headers }))).toBeLessThan(50)
  }
})
