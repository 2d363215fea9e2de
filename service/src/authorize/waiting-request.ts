import type { ServiceKeys } from '../credentials/keys.ts'
import { hashToken, keyedHash, seal, unseal } from '../credentials/secrets.ts'
import type { AuthorizationRequest } from '../store/tables/authorization-requests.ts'

/**
 * An authorization request before anybody has signed in. The sign-in page carries it, encrypted, so that requests of
 * strangers take no room in the service.
 */
export interface WaitingRequest {
  /** Its id once it is stored. */
  id: string
  browserHash: string
  clientId: string
  redirectUri: string
  scope: string
  state: string | null
  codeChallenge: string | null
  refusal: string | null
  expiresMs: number
}

export function encryptRequest(keys: ServiceKeys, request: WaitingRequest): string {
  return seal(keyFor(keys), JSON.stringify(request))
}

/** Undefined for text that this service did not encrypt. */
export function decryptRequest(keys: ServiceKeys, text: string): WaitingRequest | undefined {
  try {
    return JSON.parse(unseal(keyFor(keys), text)) as WaitingRequest
  } catch {
    return undefined
  }
}

/** As it is kept from the sign-in on. */
export function storedFrom(waiting: WaitingRequest): AuthorizationRequest {
  return {
    id_hash: hashToken(waiting.id),
    browser_hash: waiting.browserHash,
    client_id: waiting.clientId,
    redirect_uri: waiting.redirectUri,
    scope: waiting.scope,
    state: waiting.state,
    code_challenge: waiting.codeChallenge,
    refusal: waiting.refusal,
    session_hash: null,
    consent_hash: null,
    expires_ms: waiting.expiresMs,
    decided_ms: null,
  }
}

function keyFor({ hashKey }: ServiceKeys): string {
  return keyedHash(hashKey, 'authorization request')
}
