import type { AuthConfig } from '../../config.ts'
import { maxUnsavedSessions, maxUnusedSessions } from '../../internal/limits.ts'
import { succeedsOrThrowsBug } from '../../internal/timeouts.ts'
import type { SessionState } from '../../session/memory.ts'
import { createHookedSession, type HookedSession } from '../../session.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'
import type { RequestQueue } from '../proxy/request-queue.ts'
import { removeOldest } from '../remove-oldest.ts'
import { type ObservedStorage, observedStorage } from './observed-storage.ts'

/** A session in the memory of this process. */
export interface LiveSession extends Pick<HookedSession, 'session' | 'current' | 'signInAs'> {
  readonly key: string
  /** The storage of this session, with its last writes and reads. */
  readonly observed: ObservedStorage
  /** Its proxied requests. Made at the first of them. */
  queue?: RequestQueue
}

/**
 * One Session object for each key in this process, so that callers share its refresh and its retry delay. One that no request uses stays
 * in memory until `maxUnusedSessions`, 1,000, later ones push it out, or until `readAgain`. One with a pending write or removal then
 * still stays, until `maxUnsavedSessions`, 9,000, more of these push it out. No time limit removes it. One that has ended leaves at once,
 * unless it expired or its removal failed (`isForgettable`).
 */
export interface LiveSessions {
  /** Returns the session and a function that releases it. Call that once. */
  acquire(key: string): [live: LiveSession, release: () => void]
  /** Runs the task with the session, and releases it then. Rejects as the task does. */
  use<T>(key: string, task: (live: LiveSession) => Promise<T>): Promise<T>
  /**
   * Lets every session read the storage again. One of `unused` leaves the memory if it has no pending write or removal, because its next
   * request reads it.
   */
  readAgain(): Promise<void>
  /** Returns the sessions in memory. */
  all(): readonly LiveSession[]
}

interface Entry extends LiveSession {
  /** How many requests and tasks use the session now. */
  users: number
}

/** How many sessions without users stay in memory. */
export interface Limits {
  readonly unused: number
  /** Of those with a pending write or removal, this many beside the unused ones. */
  readonly unsaved: number
}

export const sessionLimits: Limits = { unused: maxUnusedSessions, unsaved: maxUnsavedSessions }

export function liveSessions(config: AuthConfig, sessions: TokenStorage, most: Limits = sessionLimits): LiveSessions {
  const entries = new Map<string, Entry>()
  /** Sessions without users, least recently used first. */
  const unused = new Set<string>()
  /** Sessions without users that had a pending write or removal when they were pushed out of `unused`, least recently used first. */
  const unsaved = new Set<string>()

  function addUser(key: string): Entry {
    const entry = entries.get(key) ?? open(config, sessions, key)
    entries.set(key, entry)
    unused.delete(key)
    unsaved.delete(key)
    entry.users++
    return entry
  }

  function removeUser(key: string, entry: Entry): void {
    entry.users--
    if (entry.users > 0) return
    if (isForgettable(entry)) entries.delete(key)
    else moveToUnused(key)
  }

  /** Evicts at most one session for each that becomes unused, so that the time of a release does not depend on their number. */
  function moveToUnused(key: string): void {
    unused.add(key)
    const oldest = removeOldest(unused, most.unused)
    if (oldest === undefined) return
    // An unsaved session stays as long as possible.
    if (!forgetSaved(entries, oldest)) moveToUnsaved(oldest)
  }

  function moveToUnsaved(key: string): void {
    unsaved.add(key)
    const oldest = removeOldest(unsaved, most.unsaved)
    if (oldest !== undefined) entries.delete(oldest)
  }

  return {
    acquire(key) {
      const entry = addUser(key)
      return [entry, () => removeUser(key, entry)]
    },
    async use(key, task) {
      const entry = addUser(key)
      try {
        return await task(entry)
      } finally {
        removeUser(key, entry)
      }
    },
    readAgain() {
      for (const key of unused) if (forgetSaved(entries, key)) unused.delete(key)
      return resumeAll(entries.values())
    },
    all: () => [...entries.values()],
  }
}

/** Removes the session from memory, unless it is unsaved. Returns whether it did. */
function forgetSaved(entries: Map<string, Entry>, key: string): boolean {
  const entry = entries.get(key)
  if (entry && isUnsaved(entry)) return false
  return entries.delete(key)
}

async function resumeAll(entries: Iterable<Entry>): Promise<void> {
  await Promise.all(Array.from(entries, ({ session }) => succeedsOrThrowsBug(() => session.resume())))
}

/** Returns whether only the memory has the tokens of a session, or only the memory knows that it ended. */
function isUnsaved({ current, observed }: Entry): boolean {
  return current.record ? current.unsaved : !observed.hasLastChangeSucceeded
}

/**
 * Returns whether a session without users is removed from memory at once. An expired session is not, because its record is still
 * stored: a new Session object would report `signed-in` until the next call for a token ends it again. If later sessions push the
 * expired one out of the memory, that is accepted.
 */
function isForgettable({ observed, session }: Entry): boolean {
  const { status, reason }: SessionState = session.state
  return observed.hasLastChangeSucceeded && status !== 'signed-in' && reason !== 'expired'
}

function open(config: AuthConfig, sessions: TokenStorage, key: string): Entry {
  const observed = observedStorage(sessions)
  const { session, current, signInAs } = createHookedSession(
    config,
    { storage: observed.storage, key },
    { onSignOut() {} },
  )
  return { key, session, current, signInAs, observed, users: 0 }
}
