import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { leastMs } from '../../../test/support/least-ms.ts'
import { parseBasic } from '../../src/token/token-endpoint.ts'

const numRuns = 500
const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64')

/** What escapes nothing but what it must, what escapes as a form does, and what escapes every byte. */
const spellings = [
  (text: string) => text.replace(/[%+:]/g, (one) => `%${one.charCodeAt(0).toString(16)}`),
  (text: string) => new URLSearchParams([['', text]]).toString().slice(1),
  (text: string) => Buffer.from(text).toString('hex').replace(/../g, '%$&'),
]

test('any id and secret are read as they were meant, however they were escaped', () => {
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string(), fc.stringMatching(/^[\w.~:%+ -]{1,30}$/))
  const spelling = fc.constantFrom(...spellings)
  const scheme = fc.constantFrom('Basic ', 'basic  ', 'BASIC ')
  fc.assert(
    fc.property(scheme, text, text, spelling, spelling, (word, clientId, secret, one, other) => {
      fc.pre(clientId !== '')
      const header = word + base64(`${one(clientId)}:${other(secret)}`)
      expect({ header, parsed: parseBasic(header) }).toEqual({ header, parsed: { clientId, secret } })
    }),
    { numRuns },
  )
})

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/** What the header holds by RFC 7617 and RFC 6749 section 2.3.1, checked the other way round; undefined when it is neither. */
function byHand(header: string): { clientId: string; secret: string } | undefined {
  const scheme = header.slice(0, header.indexOf(' '))
  const encoded = header.slice(scheme.length).replace(/^ +/, '')
  if (scheme.toLowerCase() !== 'basic' || encoded === '') return undefined
  const text = utf8.decode(Buffer.from(encoded, 'base64'))
  if (base64(text) !== encoded) return undefined
  const [id = '', ...rest] = text.split(':')
  const halves = [id, rest.join(':')].map((half) => {
    const bytes = Buffer.from(half.replace(/\+/g, ' ')).toString('latin1')
    if (/%(?![\dA-Fa-f]{2})/.test(bytes)) return undefined
    const decoded = Buffer.from(
      bytes.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
      'latin1',
    )
    const said = utf8.decode(decoded)
    return Buffer.from(said).equals(decoded) ? said : undefined
  })
  const [clientId, secret] = halves
  return id === '' || rest.length === 0 || clientId === undefined || secret === undefined
    ? undefined
    : { clientId, secret }
}

test('any header: what the grammar allows and nothing else, and nothing is thrown', () => {
  const part = fc.constantFrom('id', ':', '%', '%4', '%zz', '%c3', '%C3%A9', '+', 'é', '\0', '\ufeff')
  const parts = fc.array(part, { maxLength: 4 }).map((all) => Buffer.from(all.join('')))
  const start = fc.constantFrom('id:', 'id:', ':', '').map((text) => Buffer.from(text))
  const bytes = fc.tuple(start, fc.oneof(parts, fc.uint8Array({ maxLength: 3 }))).map((both) => Buffer.concat(both))
  const spoil = fc.constantFrom('', ' ', '=', '==', '-', '_', ',', '\n', 'A', ', Basic aTpz', '\u00a0')
  const scheme = fc.constantFrom(
    ...Array(9).fill('Basic '),
    'basic   ',
    'Basic',
    'Basic\t',
    'Bearer ',
    ' Basic ',
    'XBasic ',
    '',
  )
  const header = fc.oneof(
    fc.tuple(scheme, bytes, spoil).map(([word, all, more]) => word + base64(all) + more),
    fc.tuple(scheme, bytes, fc.nat(9), spoil).map(([word, all, at, more]) => {
      const text = base64(all)
      return word + text.slice(0, at) + more + text.slice(at)
    }),
    anyText(20),
  )
  fc.assert(
    fc.property(header, (text) => {
      expect({ text, parsed: parseBasic(text) }).toStrictEqual({ text, parsed: byHand(text) })
    }),
    { numRuns },
  )
})

test.each(['A', '=', ' ', '+', ':', '%', 'QQ==', '%25'])('100 KB of %j take less than 50 ms', async (unit) => {
  const long = unit.repeat(Math.ceil(100_000 / unit.length))
  for (const header of [long, `Basic ${long}`, `Basic ${long}~`, `Basic ${base64(`id:${long}`)}`])
    expect(await leastMs(() => parseBasic(header))).toBeLessThan(50)
})
