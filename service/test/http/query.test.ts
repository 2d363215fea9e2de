import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { leastMs } from '../../../test/support/least-ms.ts'
import { parseQuery } from '../../src/http/messages.ts'
import { formOracle } from '../support/form-oracle.ts'

const numRuns = 500
const names = ['state', 'code', 'client_id', '__proto__']
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex').replace(/../g, '%$&')

test('any bytes of a value come back in its encoded form, however they were escaped', () => {
  const spelled = fc.tuple(fc.uint8Array({ maxLength: 10 }), fc.boolean()).map(([bytes, isUpper]) => {
    const mixed = hex(bytes).replace(/%(3[0-9]|[46][1-9a-f]|[57][0-9a])/g, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
    return { bytes, text: isUpper ? mixed.replace(/%../g, (one) => one.toUpperCase()) : mixed.replace(/%20/g, '+') }
  })
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom(...names), spelled), { maxLength: 6 }), (all) => {
      const query = parseQuery(`/authorize?${all.map(([name, { text }]) => `${name}=${text}`).join('&')}#state=x`)
      for (const name of names) {
        const own = all.filter(([other]) => other === name).map(([, value]) => value)
        const first = own.find(({ bytes }) => bytes.length > 0)
        const { encoded = '', text, bytes } = query.get(name) ?? {}
        expect({ count: query.count(name), bytes }).toStrictEqual({ count: own.length, bytes: first?.bytes.length })
        expect(text).toBe(first && Buffer.from(first.bytes).toString())
        // Only what RFC 3986 never escapes stands for itself, so that it may stand in a Location.
        expect(encoded).toMatch(/^(?:[\w.~-]|%[\dA-F]{2})*$/)
        expect(
          encoded.replace(/[^%]|%../g, (one) => (one.length === 1 ? hex(Buffer.from(one)) : one.toLowerCase())),
        ).toBe(hex(first?.bytes ?? new Uint8Array()))
      }
    }),
    { numRuns },
  )
})

test('any query: the values that it has by the standard, and nothing is thrown', () => {
  const pieces = fc.constantFrom(
    'state',
    'code',
    '=',
    '&',
    '?',
    '#',
    '%',
    '%7',
    '%73',
    '%00',
    '%ff',
    '+',
    'é',
    '\ud800',
    ';',
  )
  const text = fc.oneof(
    fc.array(pieces, { maxLength: 14 }).map((parts) => parts.join('')),
    anyText(30),
  )
  fc.assert(
    fc.property(text, (one) => {
      const query = parseQuery(`/authorize?${one}`)
      const all = formOracle(one.split('#')[0] ?? '')
      for (const [name] of all) {
        const values = all.filter(([other]) => other === name).map(([, value]) => value)
        const first = values.find((value) => value !== '')
        expect({ one, name, count: query.count(name), text: query.get(name)?.text }).toStrictEqual({
          one,
          name,
          count: values.length,
          text: first,
        })
      }
    }),
    { numRuns },
  )
})

test('the longest query that a request can have takes less than 50 ms', async () => {
  const apart = Array.from({ length: 4_000 }, (_, index) => index.toString(36)).join('&')
  for (const query of ['a&', 'a=b&', '&', '=', '%', '%41', '+', 'a'].map((unit) => unit.repeat(16_384 / unit.length)))
    expect(await leastMs(() => parseQuery(`?${query}`))).toBeLessThan(50)
  expect(await leastMs(() => parseQuery(`?${apart}`))).toBeLessThan(50)
})

test('of a query 100 parameters are read, and one more makes it incomplete', () => {
  const query = parseQuery(`?${'a&'.repeat(99)}state=1`)
  expect({ count: query.count('a'), state: query.get('state')?.text, isComplete: query.isComplete }).toEqual({
    count: 99,
    state: '1',
    isComplete: true,
  })
  const longer = parseQuery(`?${'a&'.repeat(100)}state=1`)
  expect({ count: longer.count('a'), states: longer.count('state'), isComplete: longer.isComplete }).toEqual({
    count: 100,
    states: 0,
    isComplete: false,
  })
})
