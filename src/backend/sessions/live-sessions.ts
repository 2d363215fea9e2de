import { createBearerFetch } from '../../bearer.ts'
import type { AuthConfig } from '../../config.ts'
import { throwBug } from '../../internal/timeouts.ts'
import { sessionName } from '../../session/record.ts'
import { type AccessTokenSource, openSession } from '../../session.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'
import type { Tokens } from '../../tokens.ts'

const maxUnusedSessions = 1_000

type Uses = { note(name: string): unknown }

/** A session in the memory of this process. */
export type LiveSession = ReturnType<typeof open>

/**
 * One Session object for each key in this process, so that callers share its refresh and its retry delay. One that no request uses stays
 * in memory until later ones push it out. One that the storage does not show leaves at once.
 */
export type LiveSessions = ReturnType<typeof liveSessions>

export function liveSessions(config: AuthConfig, storage: TokenStorage, uses?: Uses | undefined) {
  const entries = new Map<string, LiveSession>()
  /** Sessions without users, least recently used first. */
  const unused = new Set<string>()

  /** Returns the session, and a function that releases it. Only its first call counts. */
  function acquire(key: string): [live: LiveSession, release: () => void] {
    const known = entries.get(key)
    // One whose record was gone does not count, although a request still uses it: the storage may show the record again.
    const entry = known && known.session.state.reason !== 'store_lost' ? known : open(config, storage, { key, uses })
    entries.set(key, entry)
    unused.delete(key)
    const user = Symbol(key)
    entry.users.add(user)
    return [entry, () => removeUser(entry, user)]
  }

  function removeUser(entry: LiveSession, user: symbol): void {
    const isLast = entry.users.delete(user) && entry.users.size === 0
    if (!isLast || entries.get(entry.key) !== entry) return
    if (isForgettable(entry)) return void entries.delete(entry.key)
    unused.add(entry.key)
    const pushedOut = entries.get(removeOldest(unused, maxUnusedSessions) ?? '')
    if (!pushedOut?.memory.unsaved) return void entries.delete(pushedOut?.key ?? '')
    // The only copy of these tokens.
    unused.add(pushedOut.key)
    pushedOut.sync.settleSoon()
  }

  return {
    acquire,
    /** Runs the task with the session, and releases it then. Rejects as the task does. */
    async use<T>(key: string, task: (live: LiveSession) => Promise<T>): Promise<T> {
      const [live, release] = acquire(key)
      try {
        return await task(live)
      } finally {
        release()
      }
    },
    /** Lets every session read the storage again. */
    async readAgain(): Promise<void> {
      for (const key of unused) {
        const { session, memory } = entries.get(key) ?? {}
        if (memory?.unsaved || session?.state.reason === 'signed_out') continue
        unused.delete(key)
        entries.delete(key)
      }
      await Promise.all(Array.from(entries.values(), ({ session }) => session.resume().catch(throwBug)))
    },
  }
}

function open(config: AuthConfig, storage: TokenStorage, { key, uses }: { key: string; uses: Uses | undefined }) {
  const opened = openSession(config, { storage, key })
  const { session, memory } = opened
  const name = sessionName(config, key)
  return {
    key,
    /** The name of its record. */
    name,
    ...opened,
    /** Gives access tokens, and notes each use of the session. */
    source: uses ? usedSource(session, () => uses.note(name)) : session,
    /** Returns the tokens in memory, which may be newer than those of the record. */
    tokens: (): Tokens | undefined => memory.record?.tokens,
    /** The requests and tasks that use the session now. */
    users: new Set<symbol>(),
  }
}

function usedSource(source: AccessTokenSource, note: () => unknown): AccessTokenSource {
  return {
    async getAccessToken(options) {
      const token = await source.getAccessToken(options)
      await note()
      return token
    },
  }
}

/**
 * Returns whether a session without users leaves the memory at once. An expired session does not, because a new Session object would
 * report `signed-in` until the next call for a token. One that signed out here does not, because its removal may have failed.
 */
function isForgettable({ session }: LiveSession): boolean {
  const { status, reason } = session.state
  return status !== 'signed-in' && reason !== 'expired' && reason !== 'signed_out'
}

/**
 * Returns the `fetch` of a session, for the proxy and for server code. It calls URLs under `baseUrl`, and rejects with
 * `origin_forbidden` for any different one.
 */
export function apiFetch(
  { config, injectedFetch }: { config: AuthConfig; injectedFetch: typeof fetch | undefined },
  source: AccessTokenSource,
): typeof fetch {
  const { baseUrl, allowHttpHosts } = config
  const send = injectedFetch && withoutRequests(injectedFetch)
  return createBearerFetch(source, { baseUrl, allowHttpHosts, fetch: send, elsewhere: 'reject' })
}

/** Passes the parts of a Request on, because a `fetch` from npm rejects the Request of the platform. */
function withoutRequests(send: typeof fetch): typeof fetch {
  return (input, init) => {
    if (!(input instanceof Request)) return send(input, init)
    const { url, method, headers, body, signal, redirect } = input
    return send(url, { method, headers, body, signal, redirect, duplex: 'half' } as RequestInit)
  }
}

/** Removes the entry that was added first to a Set or a Map if there are more than `maxSize`. Returns its key if it removed one. */
export function removeOldest(
  entries: { readonly size: number; keys(): Iterator<string>; delete(key: string): boolean },
  maxSize: number,
): string | undefined {
  if (entries.size <= maxSize) return undefined
  const { value } = entries.keys().next()
  entries.delete(value)
  return value
}
