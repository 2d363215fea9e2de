const tryLater = 'Try again later.'

/** The registered error codes of the authorize and token endpoints that users meet, with what to do. RFC 6749 sections 4.1.2.1 and 5.2. */
const remedies: Readonly<Record<string, string>> = {
  server_error: tryLater,
  temporarily_unavailable: tryLater,
  access_denied: 'Offer the sign-in again.',
  invalid_scope: 'Developer: check scope.',
  unauthorized_client: 'Use an account whose tenant has approved this app, or check clientId.',
  invalid_client: 'Developer: check clientId, clientSecret and basicEncoding.',
  unsupported_grant_type: 'Developer: check tokenEndpoint and dialect.',
  invalid_request: 'Developer: check redirectUri, params and dialect.',
  invalid_grant: 'Start the login again.',
}

/** Returns what to do about a registered code, and undefined for any other text, because that could echo a secret. */
export function remedyFor(error = ''): string | undefined {
  return Object.hasOwn(remedies, error) ? remedies[error] : undefined
}

/** Returns whether a code says that the service may succeed later. */
export function isTemporary(error: string): boolean {
  return remedyFor(error) === tryLater
}
