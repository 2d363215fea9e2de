import type { AuthConfig } from '../config.ts'
import type { SessionState } from '../session/state.ts'
import { createSession, type Session } from '../session.ts'
import { inProcessLock } from '../storage/in-process-lock.ts'
import type { TokenStorage } from '../storage/token-storage.ts'

/** How many idle sessions stay in memory, so that the next call needs no read. */
const maxIdle = 1_000
/** How many may stay while a failing store does not take them. */
const maxUnsaved = 10_000

/** A session this process has at hand. */
export interface LiveSession {
  readonly session: Session
  /** Calls the API with its token, once somebody needed that. */
  fetch?: typeof fetch
  /** How many proxied requests are under way. */
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
  /** Whether the last write or removal went well. */
  readonly stored: () => boolean
}

export function liveSessions(config: AuthConfig, sessions: TokenStorage): LiveSessions {
  const entries = new Map<string, Entry>()
  const acquire: LiveSessions['acquire'] = (key) => {
    const entry = entries.get(key) ?? open(config, sessions, key)
    // Last in, last out.
    entries.delete(key)
    entries.set(key, entry)
    entry.users++
    return [
      entry,
      () => {
        entry.users--
        if (entry.users === 0 && entry.stored() && isForgettable(entry.session.state)) entries.delete(key)
        evict(entries)
      },
    ]
  }
  return {
    acquire,
    async use(key, task) {
      const [live, release] = acquire(key)
      try {
        return await task(live)
      } finally {
        release()
      }
    },
    get size() {
      return entries.size
    },
  }
}

/** Not what expired: its record is still there, and read anew it would pass for a session. */
function isForgettable({ status, reason }: SessionState): boolean {
  return status !== 'signed-in' && reason !== 'expired'
}

/** What the store does not hold yet stays as long as memory allows: it is the only copy. */
function isSpare({ users, stored, session }: Entry): boolean {
  return users === 0 && (stored() || session.state.status !== 'signed-in')
}

/** Lets the oldest go. What must stay moves to the back, so that each release looks at a few only. */
function evict(entries: Map<string, Entry>): void {
  let looks = 8
  for (const [key, entry] of entries) {
    if (entries.size <= maxIdle || looks-- === 0) return
    entries.delete(key)
    const kept = entry.users > 0 || (!isSpare(entry) && entries.size < maxUnsaved)
    if (kept) entries.set(key, entry)
  }
}

function open(config: AuthConfig, sessions: TokenStorage, key: string): Entry {
  let failed = false
  const noting = async (operation: () => unknown): Promise<void> => {
    failed = true
    await operation()
    failed = false
  }
  const storage: TokenStorage = {
    getItem: (name) => sessions.getItem(name),
    setItem: (name, value) => noting(() => sessions.setItem(name, value)),
    removeItem: (name) => noting(() => sessions.removeItem(name)),
    // Without a lock of its own the storage serves one process: the lock here reaches all of that.
    withLock: (name, task, options) =>
      sessions.withLock?.(name, task, options) ?? inProcessLock(sessions, name, task, options),
  }
  return { session: createSession(config, { storage, key }), stored: () => !failed, proxied: 0, users: 0 }
}
