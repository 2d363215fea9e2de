import type { ClientRefusal } from '../store/tokens.ts'

type OAuthErrorName =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'temporarily_unavailable'

type OAuthStatus = 400 | 401 | 403 | 405 | 413 | 415 | 429

interface OAuthErrorOptions {
  error: OAuthErrorName
  /** ASCII without quotes (RFC 6749 §5.2). It reveals nothing about a secret. */
  description: string
  status?: OAuthStatus
  headers?: Record<string, string>
}

/** An error response of the token endpoint (RFC 6749 §5.2). */
export class OAuthError extends Error {
  readonly error: OAuthErrorName
  readonly status: OAuthStatus
  readonly headers: Record<string, string>

  constructor({ error, description, status = 400, headers = {} }: OAuthErrorOptions) {
    super(description)
    this.error = error
    this.status = status
    this.headers = headers
  }
}

export function invalidRequest(description: string): OAuthError {
  return new OAuthError({ error: 'invalid_request', description })
}

/**
 * Texts that say why a client may not act. The user who signs in and the developer of the client read them.
 * A surface is a part of the service that the approval of a tenant opens to a client (spec 5.1).
 */
export const unapprovedText: Record<ClientRefusal, string> = {
  'client-inactive': 'the client is inactive',
  'client-not-approved': 'the tenant of this account has not approved the client',
  'no-api-surface': 'the client may not use the API, because it lacks the api surface',
}

export function unauthorizedClient(why: ClientRefusal): OAuthError {
  return new OAuthError({ error: 'unauthorized_client', description: unapprovedText[why] })
}

/** Has one default description for every state of a code or token, so that a guess reveals nothing. */
export function invalidGrant(
  description = 'the code or refresh token is invalid, expired, revoked, used or of another client',
): OAuthError {
  return new OAuthError({ error: 'invalid_grant', description })
}

export function invalidClient(description = 'client authentication failed'): OAuthError {
  return new OAuthError({
    error: 'invalid_client',
    description,
    status: 401,
    headers: { 'WWW-Authenticate': 'Basic realm="agent-service"' },
  })
}
