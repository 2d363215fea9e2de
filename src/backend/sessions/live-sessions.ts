import type { AuthConfig } from '../../config.ts'
import type { SessionState } from '../../session/state.ts'
import { createSession, type Session } from '../../session.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'
import { type SessionRecords, sessionRecords } from './session-records.ts'

/** How many idle sessions stay in memory, so that the next call needs no read. */
const maxIdle = 1_000
/** How many more may stay because a failing store did not take their tokens. */
const maxUnsaved = 9_000

/** A session in the memory of this process. */
export interface LiveSession {
  readonly session: Session
  /** What this session wrote to the store and read from it. */
  readonly records: SessionRecords
  /** Calls the API with its token; made at the first proxied request. */
  fetch?: typeof fetch
  /** How many proxied requests are in progress. */
  proxied: number
}

/** One Session object per key in this process: callers share its refresh and its schedule. */
export interface LiveSessions {
  /** The session and how to let go of it, which must happen once. */
  acquire(key: string): [live: LiveSession, release: () => void]
  use<T>(key: string, task: (live: LiveSession) => Promise<T>): Promise<T>
  readonly size: number
}

interface Entry extends LiveSession {
  users: number
}

export function liveSessions(config: AuthConfig, sessions: TokenStorage): LiveSessions {
  const entries = new Map<string, Entry>()
  /** Those without users, least recently used first. */
  const idle = new Set<string>()
  const unsaved = new Set<string>()

  function acquire(key: string): Entry {
    const entry = entries.get(key) ?? open(config, sessions, key)
    entries.set(key, entry)
    idle.delete(key)
    unsaved.delete(key)
    entry.users++
    return entry
  }

  function release(key: string, entry: Entry): void {
    entry.users--
    if (entry.users > 0) return
    if (isForgettable(entry)) entries.delete(key)
    else makeIdle(key)
  }

  /** At most one session leaves for one that comes, so that a release takes the same time however many there are. */
  function makeIdle(key: string): void {
    idle.add(key)
    const [oldest = key] = idle
    if (idle.size <= maxIdle) return
    idle.delete(oldest)
    const entry = entries.get(oldest)
    // What the store did not take stays as long as memory allows, because it is the only copy.
    if (entry?.records.owed === undefined || entry.session.state.status !== 'signed-in') entries.delete(oldest)
    else makeUnsaved(oldest)
  }

  function makeUnsaved(key: string): void {
    unsaved.add(key)
    const [oldest = key] = unsaved
    if (unsaved.size <= maxUnsaved) return
    unsaved.delete(oldest)
    entries.delete(oldest)
  }

  return {
    acquire(key) {
      const entry = acquire(key)
      return [entry, () => release(key, entry)]
    },
    async use(key, task) {
      const entry = acquire(key)
      try {
        return await task(entry)
      } finally {
        release(key, entry)
      }
    },
    get size() {
      return entries.size
    },
  }
}

/** An expired session is kept, because its record is still there and a new Session object would take it for valid. */
function isForgettable({ records, session }: Entry): boolean {
  const { status, reason }: SessionState = session.state
  return records.isSettled && status !== 'signed-in' && reason !== 'expired'
}

function open(config: AuthConfig, sessions: TokenStorage, key: string): Entry {
  const records = sessionRecords(sessions)
  return { session: createSession(config, { storage: records.storage, key }), records, proxied: 0, users: 0 }
}
