import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { leastMs } from '../../../test/support/least-ms.ts'
import { hasMediaType, parseForm } from '../../src/http/messages.ts'
import { formOracle } from '../support/form-oracle.ts'

const numRuns = 500

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.constantFrom('code', 'client_id', '__proto__', ''),
)
/** One byte after the other, escaped or not: both are how a form may be written. */
const written = (value: string, plain: boolean): string =>
  plain
    ? new URLSearchParams([['', value]]).toString().slice(1)
    : Buffer.from(value).toString('hex').replace(/../g, '%$&')

test('a form is read as it was meant, and a field that comes twice is named, in every spelling', () => {
  const fields = fc.array(fc.tuple(text, text, fc.boolean(), fc.boolean()), { maxLength: 6 })
  fc.assert(
    fc.property(fields, (all) => {
      const body = all.map(([name, value, a, b]) => `${written(name, a)}=${written(value, b)}`).join('&')
      const names = all.map(([name]) => name)
      const repeated = names.find((name, at) => names.indexOf(name) < at)
      const form = parseForm(body)
      if (repeated !== undefined || form.kind === 'repeated')
        return void expect(form).toEqual({ kind: 'repeated', field: repeated })
      for (const [name, value] of all)
        expect({ name, value: form.get(name) }).toStrictEqual({ name, value: value === '' ? undefined : value })
      for (const name of ['code', 'client_id', '__proto__', 'toString'])
        if (!names.includes(name)) expect({ name, value: form.get(name) }).toStrictEqual({ name, value: undefined })
    }),
    { numRuns },
  )
})

test('any text is the form that it is by the standard, and nothing is thrown', () => {
  const pieces = fc.constantFrom(
    'a',
    'b',
    'code',
    '=',
    '&',
    '&',
    '%',
    '%6',
    '%61',
    '%00',
    '%ff',
    '+',
    ';',
    'é',
    '\ud800',
  )
  const body = fc.oneof(
    fc.array(pieces, { maxLength: 14 }).map((parts) => parts.join('')),
    anyText(30),
  )
  fc.assert(
    fc.property(body, (one) => {
      const form = parseForm(one)
      // Node itself damages what stands unescaped beside a byte that is not UTF-8.
      if (/[^\0-\x7f]/.test(one) && one.includes('%')) return
      const fields = formOracle(one)
      const repeated = fields.find(([name], at) => fields.findIndex(([other]) => other === name) < at)
      if (repeated !== undefined || form.kind === 'repeated')
        return void expect({ one, form }).toEqual({ one, form: { kind: 'repeated', field: repeated?.[0] } })
      for (const [name, value] of fields)
        expect({ one, name, value: form.get(name) }).toStrictEqual({ one, name, value: value || undefined })
    }),
    { numRuns },
  )
})

test('a type is the one it names, in UTF-8 and not compressed, with any other text in it', () => {
  const type = 'application/json'
  const blank = fc.stringMatching(/^[ \t]{0,2}$/)
  const good = fc.constantFrom('charset=utf-8', 'charset=UTF8', 'Charset="utf-8"', 'v=1', 'x', 'q="a"')
  const bad = fc.constantFrom('charset=latin1', 'CHARSET=utf-16', 'charset', 'charset=', 'charset="utf-8')
  const essence = fc.constantFrom('application/json', 'APPLICATION/JSON', 'application/jsonx', 'text/plain', 'json', '')
  const encoding = fc.constantFrom(undefined, undefined, 'identity', 'gzip', 'br', '')
  fc.assert(
    fc.property(
      essence,
      fc.array(fc.tuple(blank, fc.oneof(good, good, bad), blank), { maxLength: 3 }),
      encoding,
      (word, all, coded) => {
        const headers = new Headers({ 'content-type': word + all.map((parts) => `;${parts.join('')}`).join('') })
        if (coded !== undefined) headers.set('content-encoding', coded)
        const isUtf8 = all.every(([, one]) => /^(v|x|q|charset="?utf-?8"?$)/i.test(one))
        const expected = word.toLowerCase() === type && isUtf8 && (coded === undefined || coded === 'identity')
        expect({
          contentType: headers.get('content-type'),
          coded,
          isTaken: hasMediaType(headers, type),
        }).toStrictEqual({ contentType: headers.get('content-type'), coded, isTaken: expected })
      },
    ),
    { numRuns },
  )
})

test.each(['a&', '=', '&', '%', '%25', '+', 'a=b&', 'a'])('100 KB of %j take less than 50 ms', async (unit) => {
  const long = unit.repeat(Math.ceil(100_000 / unit.length))
  const names = Array.from({ length: 15_000 }, (_, index) => index.toString(36)).join('&')
  for (const body of [long, `a=${long}`, names]) expect(await leastMs(() => parseForm(body))).toBeLessThan(50)
  expect(await leastMs(() => hasMediaType(new Headers({ 'content-type': `a;${long}` }), 'a'))).toBeLessThan(50)
})
