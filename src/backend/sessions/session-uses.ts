import { sessionName } from '../../session/record.ts'
import type { AccessTokenSource } from '../../session.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'
import type { LastUses } from './last-use.ts'

/** The last uses of sessions, by their keys. */
export interface SessionUses {
  /** Notes a use of a session that has not ended. Never rejects. */
  note(key: string): MaybePromise<unknown>
  /** Returns when the session ends if it is not used again, in epoch milliseconds. */
  endsAtMs(key: string): number
}

export function sessionUses(config: { authUrl: string; clientId: string }, uses: LastUses): SessionUses {
  return {
    note: (key) => uses.note(sessionName(config, key)),
    endsAtMs: (key) => uses.endsAtMs(sessionName(config, key)) ?? Number.POSITIVE_INFINITY,
  }
}

/** Returns a source of tokens that notes each use of the session. */
export function usedSource(source: AccessTokenSource, uses: SessionUses | undefined, key: string): AccessTokenSource {
  if (!uses) return source
  return {
    async getAccessToken(options) {
      const token = await source.getAccessToken(options)
      await uses.note(key)
      return token
    },
  }
}
