import { unreachedCause } from '../error-cause.ts'
import type { LoggedOutEvent } from '../events.ts'
import type { RevocationTarget } from './revocation-request.ts'

/** What an event says about a revocation. */
export type RevocationResult = Pick<LoggedOutEvent, 'revocation' | 'cause'>

/** The refresh tokens of a session that ended. */
export interface TokensToRevoke {
  /** The refresh tokens that may be valid. */
  readonly refreshTokens: readonly string[]
  /** `possible`: a refresh did not end in time, so that the service may have issued a token that was not read. */
  readonly otherTokens: 'none' | 'possible'
}

/**
 * Revokes the refresh tokens, all at the same time, with one request each (`revocationTimeoutMs`, 2 s). Sends no access token.
 * Returns `failed` also without a token, because one that could not be read may be valid. Never rejects.
 */
export async function revokeAll(
  target: RevocationTarget,
  { refreshTokens, otherTokens }: TokensToRevoke,
): Promise<RevocationResult> {
  const { revocationEndpoint } = target
  if (!revocationEndpoint) return { revocation: 'off' }
  try {
    // The request is loaded at the first revocation, so that the start does not wait for it.
    const { revoke } = await import('./revocation-request.ts')
    const revoked = await Promise.all(refreshTokens.map((token) => revoke(target, token)))
    const isDone = revoked.length > 0 && revoked.every(Boolean) && otherTokens === 'none'
    return { revocation: isDone ? 'done' : 'failed' }
  } catch (error) {
    return { revocation: 'failed', cause: unreachedCause(error, revocationEndpoint, 'revocationEndpoint') }
  }
}
