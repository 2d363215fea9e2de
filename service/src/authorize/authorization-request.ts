import type { Query } from '../http/query.ts'
import { requestLimits } from '../limits.ts'
import { matchesRegistered } from '../redirect-uris.ts'
import type { Approval, ClientRecord, RegisteredClient } from '../store/tables/clients.ts'
import { unapprovedText } from '../token/oauth-error.ts'

/** The parameters of a request of a known client. `refusal` is the error for its redirect URI (S-004, A-28). */
export interface AuthorizationRequest {
  redirectUri: string
  scope: string
  state: string | null
  codeChallenge: string | null
  refusal: string | null
}

/** The parameters of a callback that reports an error (RFC 6749 §4.1.2.1). */
export type RefusalFields = { error: string; error_description?: string }

export type Refusal = 'invalid_request' | 'invalid_scope' | 'unsupported_response_type'

const singleParameters = ['response_type', 'scope', 'state', 'code_challenge', 'code_challenge_method']

/**
 * Returns the redirect URI if it is sent once and registered for this client. Otherwise `authorize` shows a page, because any other would
 * be an open redirect (S-003).
 */
export function verifiedRedirectUri(query: Query, client: RegisteredClient): string | undefined {
  const sent = query.count('redirect_uri') === 1 ? query.get('redirect_uri')?.text : undefined
  if (sent === undefined) return undefined
  return client.redirectUris.some((registered) => matchesRegistered(sent, registered, client.kind)) ? sent : undefined
}

export function readAuthorizationRequest(
  query: Query,
  { client, redirectUri }: { client: ClientRecord; redirectUri: string },
): AuthorizationRequest {
  const state = query.count('state') > 1 ? undefined : query.get('state')
  const refusal = findRefusal(query, client) ?? null
  return {
    redirectUri,
    scope: 'api.access',
    state: state?.encoded ?? null,
    // The challenge of a refused request is not checked and not used.
    codeChallenge: refusal === null ? (query.get('code_challenge')?.text ?? null) : null,
    refusal,
  }
}

/** Returns the error parameters of the callback: the fault of the request, or why the client may not act for this user. */
export function refusalFields(refusal: string | null, approval: Approval): RefusalFields | undefined {
  if (refusal !== null) return { error: refusal }
  return approval === 'approved'
    ? undefined
    : { error: 'unauthorized_client', error_description: unapprovedText[approval] }
}

/**
 * Returns the fault of a request, if there is one, which is sent to the redirect URI once the user is signed in: a repeated parameter, a
 * `state` over the limit (`stateBytes`, 2,048), a scope that is not exactly `api.access`. An unknown, missing or repeated `client_id` or
 * `redirect_uri` gets a page (authorize.ts).
 */
function findRefusal(query: Query, client: ClientRecord): Refusal | undefined {
  if (!query.isComplete || singleParameters.some((name) => query.count(name) > 1)) return 'invalid_request'
  if ((query.get('state')?.bytes ?? 0) > requestLimits.stateBytes) return 'invalid_request'
  const responseType = query.get('response_type')?.text
  if (responseType === undefined) return 'invalid_request'
  if (responseType !== 'code') return 'unsupported_response_type'
  if (query.get('scope')?.text !== 'api.access') return 'invalid_scope'
  return refuseChallenge(query, client.kind)
}

/** Accepts S256 alone (RFC 7636 §4.2). Only a confidential client may do without PKCE (S-007). */
function refuseChallenge(query: Query, kind: ClientRecord['kind']): Refusal | undefined {
  const challenge = query.get('code_challenge')?.text
  const method = query.get('code_challenge_method')?.text
  if (challenge === undefined && method === undefined && kind === 'confidential') return undefined
  const isS256 = method === 'S256' && challenge !== undefined && /^[A-Za-z0-9_-]{43}$/.test(challenge)
  return isS256 ? undefined : 'invalid_request'
}
