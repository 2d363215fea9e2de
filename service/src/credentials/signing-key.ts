import { createPrivateKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto'

/** Returns a new private key for ES256. */
export function newSigningKey(): JsonWebKey {
  // As PEM, because Node 20 waits for ever if it collects the garbage of a generation while it exports that key as a JWK.
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  return createPrivateKey(privateKey).export({ format: 'jwk' })
}
