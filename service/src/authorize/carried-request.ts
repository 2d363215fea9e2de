import type { ServiceContext } from '../context.ts'
import { decrypt, encrypt, hashToken, keyedHash } from '../credentials/secrets.ts'
import type { AuthorizationRequestRow } from '../store/tables/authorization-requests.ts'
import { findServiceKey } from '../store/tables/service-keys.ts'

/**
 * An authorization request before the user has signed in. The sign-in page carries it, encrypted, so that requests of
 * strangers use no storage of the service. It is valid for `authorizationRequestMs`, 10 minutes, in the browser that began it, and
 * there is no limit to their number.
 */
export interface CarriedRequest {
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

export async function encryptRequest(service: ServiceContext, request: CarriedRequest): Promise<string> {
  return encrypt(await keyFor(service), JSON.stringify(request))
}

/** Returns undefined for text that this service did not encrypt since the last reset. */
export async function decryptRequest(service: ServiceContext, text: string): Promise<CarriedRequest | undefined> {
  const key = await keyFor(service)
  try {
    return JSON.parse(decrypt(key, text)) as CarriedRequest
  } catch {
    return undefined
  }
}

/** Returns the row that is stored from the sign-in on. */
export function rowOf(request: CarriedRequest): AuthorizationRequestRow {
  const { id, ...row } = request
  return { ...row, idHash: hashToken(id), sessionHash: null, carried: 1 }
}

/** Returns a key that a reset replaces, because a reset deletes the rows that show which requests were decided. */
async function keyFor({ keys, store }: ServiceContext): Promise<string> {
  const reset = (await findServiceKey(store.db, 'reset')) ?? ''
  return keyedHash(keys.hashKey, `authorization request ${reset}`)
}
