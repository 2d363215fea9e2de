import type { Clock } from '../../internal/clock.ts'
import { idleLimits, maxUnsavedSessions } from '../../internal/limits.ts'
import { succeeds } from '../../internal/timeouts.ts'
import type { SessionRecord } from '../../session/record.ts'
import { bounded } from '../../storage/bounded.ts'
import type { MaybePromise, TokenStorage } from '../../storage/token-storage.ts'
import { removeOldest } from '../oldest.ts'
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
  /** The uses in this process that the storage did not take, because a storage without writes must not end a session in use. */
  const unnoted = new Map<string, number>()

  async function note(name: string, nowMs: number): Promise<void> {
    const isNoted = await succeeds(bounded(async () => sessions.setItem(nameOf(name), String(nowMs))))
    unnoted.delete(name)
    if (isNoted) return
    unnoted.set(name, nowMs)
    removeOldest(unnoted, maxUnsavedSessions)
  }

  return {
    isIdle: (name, { tokens }) =>
      after(sessions.getItem(nameOf(name)), (noted): MaybePromise<boolean> => {
        const nowMs = clock.wallMs()
        // Only a session that is used gets tokens, so that their time counts if there is no note yet, or none any more.
        const notedMs = Math.max(tokens.obtainedAtMs, timeOf(noted))
        if (nowMs - Math.max(notedMs, unnoted.get(name) ?? 0) >= idleMs) return true
        if (nowMs - notedMs < idleMs / idleLimits.steps) return false
        // The next request tries again if this fails.
        return note(name, nowMs).then(() => false)
      }),
    forget(name) {
      unnoted.delete(name)
      return succeeds(bounded(async () => sessions.removeItem(nameOf(name))))
    },
  }
}

/** Reads what a storage returned, which some storages have parsed already. Any other text counts as no note. */
function timeOf(noted: unknown): number {
  return Number(noted) || 0
}
