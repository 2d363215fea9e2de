import type { Clock } from '../../internal/clock.ts'
import { idleLimits } from '../../internal/limits.ts'
import { succeeds } from '../../internal/timeouts.ts'
import type { SessionRecord } from '../../session/record.ts'
import { bounded } from '../../storage/bounded.ts'
import type { MaybePromise, TokenStorage } from '../../storage/token-storage.ts'
import { after } from './after.ts'

/** When each session was used last, for all processes. */
export interface LastUses {
  /**
   * Returns whether the session was not used for `idleMs`. If it was, notes this use, but not within a tenth of that time after
   * the last one. Rejects if the storage cannot be read.
   */
  isIdle(name: string, record: SessionRecord): MaybePromise<boolean>
  /** Removes the note of a session that was removed. Never rejects. */
  forget(name: string): Promise<unknown>
}

export function lastUses(sessions: TokenStorage, { clock, idleMs }: { clock: Clock; idleMs: number }): LastUses {
  // A session name has four parts, so a name with a fifth is that of no session.
  const nameOf = (name: string): string => `${name}:last-use`
  return {
    isIdle: (name, { tokens }) =>
      after(sessions.getItem(nameOf(name)), (noted): MaybePromise<boolean> => {
        const nowMs = clock.wallMs()
        // Only a session that is used gets tokens, so that their time counts if there is no note yet, or none any more.
        const unusedMs = nowMs - Math.max(tokens.obtainedAtMs, timeOf(noted))
        if (unusedMs >= idleMs) return true
        if (unusedMs < idleMs / idleLimits.steps) return false
        // A failure must not end the session. The next request tries again.
        return succeeds(bounded(async () => sessions.setItem(nameOf(name), String(nowMs)))).then(() => false)
      }),
    forget: (name) => succeeds(bounded(async () => sessions.removeItem(nameOf(name)))),
  }
}

/** Reads what a storage returned, which some storages have parsed already. Any other text counts as no note. */
function timeOf(noted: unknown): number {
  return Number(noted) || 0
}
