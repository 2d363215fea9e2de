import { decodeRecord, isRecord, sessionName } from '../session/record.ts'
import { readOr } from '../session/save.ts'
import { sessionStore } from '../session/store.ts'
import { causeOf } from './error-cause.ts'
import type { LoggedOutEvent } from './events.ts'
import type { BackendContext } from './options.ts'
import type { LiveSession } from './sessions/live-sessions.ts'

/**
 * The refresh tokens of a session that may be valid: the one that the store did not take, and the one in the store. Where
 * that cannot be read, the one this process saw last stands for it.
 */
export async function refreshTokensOf(
  { config, sessions }: BackendContext,
  { records }: LiveSession,
  key: string,
): Promise<string[]> {
  const name = sessionName(config, key)
  const { owed, last } = records
  const stored = (await readOr(sessionStore(sessions, name), undefined)) ?? decodeRecord(name, last)
  const found = [decodeRecord(name, owed), stored].map((one) => (isRecord(one) ? one.tokens.refreshToken : undefined))
  return [...new Set(found)].filter((token) => token !== undefined)
}

/** `failed` also without a token, since one that could not be read may be valid; `off` without an endpoint. */
export async function revokeAll(
  context: BackendContext,
  tokens: readonly string[],
): Promise<Pick<LoggedOutEvent, 'revocation' | 'cause'>> {
  if (!context.revocationEndpoint) return { revocation: 'off' }
  try {
    // Loaded at the first logout, so that the start does not wait for it.
    const { revoke } = await import('./revocation-request.ts')
    const revoked = await Promise.all(tokens.map((token) => revoke(context, token)))
    return { revocation: revoked.length > 0 && revoked.every(Boolean) ? 'done' : 'failed' }
  } catch (error) {
    return { revocation: 'failed', cause: causeOf(error) }
  }
}
