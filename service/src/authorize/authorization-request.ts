import type { Query } from '../http/query.ts'
import { matchesRegistered } from '../redirect-uris.ts'
import type { Approval, ClientRecord, RegisteredClient } from '../store/tables/clients.ts'
import { unapprovedText } from '../token/oauth-error.ts'

/** What a verified client asked for. `refusal` is the error that goes back to its redirect URI (S-004, A-28). */
export interface AuthorizationRequest {
  redirectUri: string
  scope: string
  state: string | null
  codeChallenge: string | null
  refusal: string | null
}

export type Refusal = 'invalid_request' | 'invalid_scope' | 'unsupported_response_type'

//
const longestStateBytes = 2_048
const singleParameters = ['response_type', 'scope', 'state', 'code_challenge', 'code_challenge_method']

/** The redirect URI, only when it is sent once and registered for this client; nothing may be sent anywhere else (S-003). */
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
    // A refused one may hold anything, and is never asked for.
    codeChallenge: refusal === null ? (query.get('code_challenge')?.text ?? null) : null,
    refusal,
  }
}

/** Returns what goes back to the client: what was wrong with its request, or why it may not act for this person. */
export function refusalFields(refusal: string | null, approval: Approval): Record<string, string> | undefined {
  if (refusal !== null) return { error: refusal }
  return approval === 'approved'
    ? undefined
    : { error: 'unauthorized_client', error_description: unapprovedText[approval] }
}

function findRefusal(query: Query, client: ClientRecord): Refusal | undefined {
  if (singleParameters.some((name) => query.count(name) > 1)) return 'invalid_request'
  if ((query.get('state')?.bytes ?? 0) > longestStateBytes) return 'invalid_request'
  const responseType = query.get('response_type')?.text
  if (responseType === undefined) return 'invalid_request'
  if (responseType !== 'code') return 'unsupported_response_type'
  if (query.get('scope')?.text !== 'api.access') return 'invalid_scope'
  return refuseChallenge(query, client.kind)
}

/** S256 or nothing; a public client has no choice (S-007). */
function refuseChallenge(query: Query, kind: ClientRecord['kind']): Refusal | undefined {
  const challenge = query.get('code_challenge')?.text
  const method = query.get('code_challenge_method')?.text
  if (challenge === undefined && method === undefined && kind === 'confidential') return undefined
  const isS256 = method === 'S256' && challenge !== undefined && /^[A-Za-z0-9_-]{43}$/.test(challenge)
  return isS256 ? undefined : 'invalid_request'
}
