import fc from 'fast-check'
import { base64url } from 'jose'
import { beforeAll, expect, test } from 'vitest'
import { decrypt, type EncryptionKeys, encrypt } from '../../src/storage/jwe.ts'
import { anyText } from '../support/any-text.ts'
import { leastMs } from '../support/least-ms.ts'

const context = 'login'
const plain = '{"pending":{"state":"s"},"id":"i"}'
/** Two ways of spoiling, a million together. */
const numRuns = 100

let older: CryptoKey
let newer: CryptoKey
let keys: EncryptionKeys
let sealed: string
beforeAll(async () => {
  const usages: KeyUsage[] = ['encrypt', 'decrypt']
  const made = async () =>
    (await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, usages)) as CryptoKey
  older = await made()
  newer = await made()
  keys = new Map([['new', older]]).set('old', older)
  sealed = await encrypt(keys, context, plain)
})

/** What comes out, or that it was refused. */
function opened(text: string, under = context, by = keys): Promise<{ plain: string } | 'refused'> {
  return decrypt(by, under, text).then(
    (found) => ({ plain: found }),
    () => 'refused',
  )
}

const bytesOf = (text: string): string[] =>
  text.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'))

test('any text opens as it was sealed, by a key of the list and under its own context only', async () => {
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.json())
  const contexts = fc.uniqueArray(fc.string({ unit: 'grapheme-ascii', maxLength: 12 }), {
    minLength: 2,
    maxLength: 2,
  })
  await fc.assert(
    fc.asyncProperty(text, contexts, async (value, [own = '', other = '']) => {
      const written = await encrypt(new Map([['old', older]]), own, value)
      expect(written).toMatch(/^[\w-]+\.\.[\w-]{16}\.[\w-]*\.[\w-]{22}$/)
      expect(await opened(written, own)).toEqual({ plain: value })
      expect(await opened(written, other)).toBe('refused')
      expect(await opened(written, own, new Map([['old', newer]]))).toBe('refused')
      expect(await opened(written, own, new Map([['new', older]]))).toBe('refused')
    }),
    { numRuns: Math.ceil(numRuns / 5) },
  )
})

test('with any bytes cut out, changed or put in it is refused', async () => {
  const edit = fc.record({
    at: fc.nat(sealed.length),
    cut: fc.nat(3),
    put: fc.oneof(fc.stringMatching(/^[\w-]{0,3}$/), anyText(3), fc.constantFrom('.', '..', '=', '+', '/', ' ', '\0')),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
      let text = sealed
      for (const { at, cut, put } of edits) text = text.slice(0, at) + put + text.slice(at + cut)
      const result = await opened(text)
      // The last character of a part can have bits that mean nothing: still the same bytes.
      if (result !== 'refused')
        expect({ result, bytes: bytesOf(text) }).toEqual({ result: { plain }, bytes: bytesOf(sealed) })
    }),
    { numRuns },
  )
})

test('no header opens anything that was not sealed here', async () => {
  const names = fc.constantFrom(
    'alg',
    'enc',
    'kid',
    'ctx',
    'zip',
    'crit',
    'p2c',
    'p2s',
    'epk',
    'jwk',
    'apu',
    '__proto__',
  )
  const values = fc.oneof(
    fc.constantFrom<unknown>('dir', 'none', 'A256GCM', 'A128CBC-HS256', 'PBES2-HS256+A128KW', 'A256KW', 'DEF', 'login'),
    fc.constantFrom<unknown>('new', 'old', 2 ** 31 - 1, ['ctx'], ['zip'], {}, null, '', true),
    fc.jsonValue({ maxDepth: 1 }),
  )
  const base = { alg: 'dir', enc: 'A256GCM', kid: 'new', ctx: context }
  const header = fc
    .array(fc.tuple(names, values), { maxLength: 4 })
    .map((all) => ({ ...base, ...Object.fromEntries(all) }))
  const part = fc.uint8Array({ maxLength: 20 }).map((bytes) => base64url.encode(bytes))
  const own = fc.constantFrom(...sealed.split('.'))
  await fc.assert(
    fc.asyncProperty(header, fc.tuple(...Array(4).fill(fc.oneof(part, own))), async (protectedHeader, parts) => {
      const text = [base64url.encode(JSON.stringify(protectedHeader)), ...parts].join('.')
      if (text !== sealed) expect({ text, result: await opened(text) }).toEqual({ text, result: 'refused' })
    }),
    { numRuns },
  )
})

test.each(['A', '.', 'e', '=', ' ', '\u00e9'])('100 KB of %j are refused in less than 50 ms', async (unit) => {
  const [header, , iv] = sealed.split('.')
  const long = unit.repeat(100_000)
  for (const text of [long, `${header}..${iv}.${long}.AAAAAAAAAAAAAAAAAAAAAA`, `${long}..${iv}.AA.AA`]) {
    expect(await opened(text)).toBe('refused')
    expect(await leastMs(() => opened(text))).toBeLessThan(50)
  }
})
