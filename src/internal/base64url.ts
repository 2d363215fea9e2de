/** Encodes bytes without padding. RFC 4648 section 5. */
export function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

/** Returns 256 random bits as text: a state, or a code verifier. RFC 6749 section 10.10, RFC 7636 section 4.1. */
export function randomText(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}
