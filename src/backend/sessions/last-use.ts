import type { Clock } from '../../internal/clock.ts'
import { idleLimits, maxUnsavedSessions, revalidateAfterMs } from '../../internal/limits.ts'
import { succeeds, withTimeout } from '../../internal/timeouts.ts'
import type { SessionRecord } from '../../session/record.ts'
import { bounded } from '../../storage/time-limits.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'
import { removeOldest } from '../remove-oldest.ts'
import { after } from './after.ts'
import { confirmed } from './confirm-ended.ts'
import type { LockedStorage } from './storage-failure-events.ts'

/**
 * When each session was used last, for all processes. A session ends by itself after `idleMs` without a use (`idleLimits.minMs`, 2
 * minutes, or more; default: never). A use is noted at most once in a tenth of `idleMs`, so the session may end after 90 % of it. Apart
 * from that, it ends `sessionLifeMs` (default: 30 days) after its login began (cookies/session-cookie.ts).
 */
export interface LastUses {
  /** Returns whether the session was not used for `idleMs`. Rejects if the storage cannot be read. */
  isIdle(name: string, record: SessionRecord): MaybePromise<boolean>
  /**
   * Notes a use, at most once in a tenth of `idleMs` (`idleLimits.steps`, 10). Call it only for a session that is not idle, because
   * it does not check that. Waits for the storage a short time (`idleLimits.maxNoteWaitMs`, 1 s), after which the write continues.
   * Never rejects.
   */
  note(name: string): MaybePromise<unknown>
  /** Returns when the session ends if it is not used again, in epoch milliseconds. Undefined before the first `isIdle`. */
  endsAtMs(name: string): number | undefined
  /** Removes the note of a session that was removed. Never rejects. */
  forget(name: string): Promise<unknown>
}

export function lastUses(sessions: LockedStorage, { clock, idleMs }: { clock: Clock; idleMs: number }): LastUses {
  // A session name has four parts, so a name with a fifth is that of no session.
  const nameOf = (name: string): string => `${name}:last-use`
  /** Uses whose note the storage did not take. They count here, because a storage that takes no writes must not end a session in use. */
  const unsavedUses = new Map<string, number>()
  /** The last uses that this process read from the storage or wrote to it. */
  const storedUses = new Map<string, number>()
  const lastUseMs = (name: string, notedMs: number): number => Math.max(notedMs, unsavedUses.get(name) ?? 0)

  function remember(uses: Map<string, number>, name: string, atMs: number): void {
    uses.delete(name)
    uses.set(name, atMs)
    removeOldest(uses, maxUnsavedSessions)
  }

  async function write(name: string, beforeMs: number, nowMs: number): Promise<void> {
    // At once, so that uses during the write do not repeat it.
    remember(storedUses, name, nowMs)
    if (await succeeds(bounded(async () => sessions.setItem(nameOf(name), String(nowMs))))) {
      unsavedUses.delete(name)
      return
    }
    remember(storedUses, name, beforeMs)
    remember(unsavedUses, name, nowMs)
  }

  return {
    isIdle: (name, { tokens }) =>
      confirmed(sessions, name, () =>
        after(sessions.getItem(nameOf(name)), (noted) => {
          // Tokens are obtained only for a session in use, so the time of the newest ones counts as a use. There may be no note.
          const notedMs = Math.max(tokens.obtainedAtMs, timeOf(noted))
          remember(storedUses, name, notedMs)
          return clock.wallMs() - lastUseMs(name, notedMs) >= idleMs
        }),
      ),
    note(name) {
      const nowMs = clock.wallMs()
      const beforeMs = storedUses.get(name) ?? 0
      if (nowMs - beforeMs < idleMs / idleLimits.steps) return
      // A storage that has just refused a note is not asked at every request.
      if (nowMs - (unsavedUses.get(name) ?? 0) < revalidateAfterMs) return
      return succeeds(withTimeout(idleLimits.maxNoteWaitMs, write(name, beforeMs, nowMs)))
    },
    endsAtMs(name) {
      const notedMs = storedUses.get(name)
      return notedMs === undefined ? undefined : lastUseMs(name, notedMs) + idleMs
    },
    forget(name) {
      unsavedUses.delete(name)
      storedUses.delete(name)
      return succeeds(bounded(async () => sessions.removeItem(nameOf(name))))
    },
  }
}

/** Reads what a storage returned, which some storages have parsed already. Any other text counts as no note. */
function timeOf(noted: unknown): number {
  return Number(noted) || 0
}
