import { expect, test } from 'vitest'
import { keyOf } from '../../src/store/tenant.ts'

test.each([
  ['A  B', 'a__b'],
  [' A ', '_a_'],
  ['A\u00a0B', 'a\u00a0b'],
  ['\u0130', 'i\u0307'],
  ['ΑΣ', 'ας'],
  ['\u212a', 'k'],
])('the key of %j is %j', (name, key) => {
  expect(keyOf(name)).toBe(key)
})

test('names that are canonically equal have one key', () => {
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const character = String.fromCodePoint(code)
    // A character that is not assigned, or is for private use, is equal to no other.
    if (/[\p{Cn}\p{Co}\p{Cs}]/u.test(character)) continue
    const name = `A${character}\u0301\u0323 b`
    const key = keyOf(name)
    if (keyOf(name.normalize('NFD')) !== key || keyOf(name.normalize('NFC')) !== key || key !== key.normalize('NFC')) {
      expect(code.toString(16)).toBe('one key')
    }
  }
  expect(keyOf('J\u030c')).toBe(keyOf('\u01f0'))
})
