import { expect, test } from 'vitest'
import { decrypt, encrypt } from '../../src/credentials/tokens.ts'

const secret = 'a secret of 256 random bits'

/** The encrypted text with so many bytes of its nonce and tag, which are the first 28 bytes. */
function cut(encrypted: string, bytes: number): string {
  return Buffer.from(encrypted, 'base64url').subarray(0, bytes).toString('base64url')
}

test('a text decrypts under its own secret only', () => {
  const encrypted = encrypt(secret, 'text')
  expect(decrypt(secret, encrypted)).toBe('text')
  expect(() => decrypt('another', encrypted)).toThrow('unable to authenticate')
})

test.each([4, 8, 12, 13, 14, 15])('a tag that is cut to %i bytes is refused', (tagBytes) => {
  // Without text after it, the tag is the end of the bytes.
  const encrypted = encrypt(secret, '')
  expect(decrypt(secret, encrypted)).toBe('')
  expect(() => decrypt(secret, cut(encrypted, 12 + tagBytes))).toThrow(
    expect.objectContaining({ code: 'ERR_CRYPTO_INVALID_AUTH_TAG' }),
  )
})
