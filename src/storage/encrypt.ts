import { CompactEncrypt, compactDecrypt } from 'jose'

/** Secrets by key id: the first seals, all of them open. */
export type SealKeys = ReadonlyMap<string, CryptoKey | Uint8Array>

/** Seals text as a compact JWE (`dir`, `A256GCM`) that opens only under the same context. RFC 7516. */
export function seal(keys: SealKeys, context: string, text: string): Promise<string> {
  const [[kid, secret] = refuse()] = keys
  const header = { alg: 'dir', enc: 'A256GCM', kid, ctx: context }
  // A copy, because under jsdom the bytes of a TextEncoder are of another realm than the Uint8Array that jose looks for.
  return new CompactEncrypt(Uint8Array.from(new TextEncoder().encode(text))).setProtectedHeader(header).encrypt(secret)
}

/** Opens what was sealed under this context; rejects, with an error nobody should see, for everything else. */
export async function unseal(keys: SealKeys, context: string, sealed: string): Promise<string> {
  const { plaintext, protectedHeader } = await compactDecrypt(sealed, ({ kid = '' }) => keys.get(kid) ?? refuse(), {
    keyManagementAlgorithms: ['dir'],
    contentEncryptionAlgorithms: ['A256GCM'],
    // Refuses compression: nothing sealed here has any.
    maxDecompressedLength: 0,
  })
  return protectedHeader.ctx === context ? new TextDecoder().decode(plaintext) : refuse()
}

function refuse(): never {
  throw new Error('refused')
}
