const tryLater = 'The service has a problem. Try again later.'

/**
 * The registered error codes of the authorize and token endpoints, with what to do. RFC 6749 sections 4.1.2.1 and 5.2, OpenID Connect
 * Core sections 3.1.2.6 and 6, RFC 8707, 9396 and 9470. `classify` in token-endpoint/classify-failure.ts decides which ones end a
 * session.
 */
const remedies: Readonly<Record<string, string>> = {
  'server_error temporarily_unavailable': tryLater,
  access_denied: 'The user or the service denied it. Offer the sign-in again.',
  'login_required interaction_required account_selection_required consent_required':
    'The user has to answer there. Start the login without prompt=none.',
  invalid_scope: 'Developer: set scope to one that this client may have.',
  unauthorized_client: 'Developer: check clientId. User: use an account of a tenant that has approved this app.',
  invalid_client: 'Developer: check clientId (still known?).',
  unsupported_grant_type: 'Developer: check tokenEndpoint and dialect.',
  unsupported_response_type: 'Operator of the service: allow this client the authorization code flow.',
  invalid_request: 'Developer: check redirectUri, params and dialect.',
  invalid_grant: 'The code or token is expired, used or revoked. Start the login again.',
  'invalid_request_uri invalid_request_object request_not_supported request_uri_not_supported registration_not_supported invalid_target invalid_authorization_details unmet_authentication_requirements':
    'Developer: check params.',
}

/** Returns what to do about a registered code, and undefined for any other text, because that could echo a secret. */
export function remedyFor(error: string | undefined): string | undefined {
  return Object.entries(remedies).find(([codes]) => codes.split(' ').includes(error as string))?.[1]
}

/** Returns whether a code says that the service may succeed later. */
export function isTemporary(error: string): boolean {
  return remedyFor(error) === tryLater
}
