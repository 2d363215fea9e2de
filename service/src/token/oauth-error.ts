import type { Unapproved } from '../store/tables/clients.ts'

export type OAuthErrorName =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'temporarily_unavailable'

export type OAuthStatus = 400 | 401 | 403 | 405 | 413 | 415 | 429

interface OAuthErrorOptions {
  error: OAuthErrorName
  /** ASCII without quotes, as RFC 6749 §5.2 asks; never says what of a secret was wrong. */
  description: string
  status?: OAuthStatus
  headers?: Record<string, string>
}

/** A refusal of the token endpoint, in the words of RFC 6749 §5.2. */
export class OAuthError extends Error {
  readonly error: OAuthErrorName
  readonly status: OAuthStatus
  readonly headers: Record<string, string>

  constructor({ error, description, status = 400, headers = {} }: OAuthErrorOptions) {
    super(description)
    this.name = 'OAuthError'
    this.error = error
    this.status = status
    this.headers = headers
  }
}

export function invalidRequest(description: string): OAuthError {
  return new OAuthError({ error: 'invalid_request', description })
}

/** Says why a client may not act, to the person who signs in and to the developer of the client (S-061). */
export const unapprovedText: Record<Unapproved, string> = {
  'client-inactive': 'the client is inactive',
  'client-not-approved': 'the tenant of this account has not approved the client',
  'no-api-surface': 'the client may not use the API, because it lacks the api surface',
}

export function unauthorizedClient(why: Unapproved): OAuthError {
  return new OAuthError({ error: 'unauthorized_client', description: unapprovedText[why] })
}

/** One description for every cause, so that a guess learns nothing. */
export function invalidGrant(description = 'the grant is invalid, expired, revoked or not yours'): OAuthError {
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
