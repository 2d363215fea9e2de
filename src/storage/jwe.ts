import { CompactEncrypt, compactDecrypt } from 'jose'

/** Keys by id. The first one encrypts, all of them decrypt. */
export type EncryptionKeys = ReadonlyMap<string, CryptoKey | Uint8Array>

/** Encrypts text as a compact JWE (`dir`, `A256GCM`) that decrypts only under the same context. RFC 7516. */
export function encrypt(keys: EncryptionKeys, context: string, text: string): Promise<string> {
  const [[kid, secret] = refuse()] = keys
  const header = { alg: 'dir', enc: 'A256GCM', kid, ctx: context }
  // A copy, because under jsdom the bytes of a TextEncoder are of another realm than the Uint8Array that jose checks for.
  return new CompactEncrypt(Uint8Array.from(new TextEncoder().encode(text))).setProtectedHeader(header).encrypt(secret)
}

/** Decrypts text of `encrypt` under this context. Rejects for all other text; the error must not reach the caller. */
export async function decrypt(keys: EncryptionKeys, context: string, encrypted: string): Promise<string> {
  const { plaintext, protectedHeader } = await compactDecrypt(encrypted, ({ kid = '' }) => keys.get(kid) ?? refuse(), {
    keyManagementAlgorithms: ['dir'],
    contentEncryptionAlgorithms: ['A256GCM'],
    // `encrypt` does not compress, and decompression of foreign text can exhaust memory.
    maxDecompressedLength: 0,
  })
  return protectedHeader.ctx === context ? new TextDecoder().decode(plaintext) : refuse()
}

function refuse(): never {
  throw new Error('refused')
}
