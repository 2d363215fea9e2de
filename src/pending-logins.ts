import { isState, type PendingLogin } from './authorize.ts'
import { isPendingLogin, loginNotFound } from './callback.ts'
import { AgentAuthError } from './errors.ts'
import { type Clock, systemClock } from './internal/clock.ts'
import { maxLoginMs } from './internal/limits.ts'
import {
  attempt,
  checkAwaited,
  checkMethods,
  checkNames,
  invalid,
  ownMembers,
  recordMethods,
  redacted,
} from './internal/values.ts'
import { bounded, runLocked, storageFailed } from './storage/lock.ts'
import type { TokenStorage } from './storage/token-storage.ts'

const prefix = 'agent-auth:login'

/** How many logins one storage keeps, pending or already used. Each tab can start some. */
const maxPendingLogins = 16
/** How long a call waits for the lock, in milliseconds. Its owner reads and writes a few small records. */
const maxWaitMs = 10_000

/** Stores pending logins, one record per state, apart from tokens. */
export interface PendingLogins {
  /**
   * Stores a login before the browser leaves. Keeps the newest logins, used ones included, and removes others. Rejects with
   * `storage_failed` or `config_invalid`.
   */
  save(pending: PendingLogin): Promise<void>
  /**
   * Returns the login of a callback and removes it, so that one state is used once. Rejects with `already_handled`,
   * `flow_not_found` or `storage_failed`. A callback without a valid state changes nothing. `readCallback` refuses a login that is
   * too old with `flow_expired`.
   */
  take(callback: string | URL): Promise<PendingLogin>
}

/** The state of a login, its start, and whether its callback came. */
type IndexEntry = readonly [state: string, createdAtMs: number, use: 'pending' | 'taken']

/**
 * Stores pending logins in a storage that only this user's browser or session can read. A backend of this library keeps them in
 * cookies instead. A config of `createAuthConfig` can be
 * passed as the options. Throws `config_invalid`.
 */
export function pendingLogins(storage: TokenStorage, options: { clock?: Clock | undefined } = {}): PendingLogins {
  checkMethods('storage', storage, recordMethods)
  const { clock = systemClock } = Object.hasOwn(options, 'emit')
    ? options
    : checkNames('pendingLogins', options, ['clock'])
  const { save, take } = loginRecords(storage, clock)
  return {
    async save(pending) {
      checkAwaited('pending', pending)
      if (!isPendingLogin(pending)) invalid('save needs the pending of await startLogin(config)')
      return save(pending)
    },
    take,
  }
}

/** Does the work of `pendingLogins` for callers that have checked its arguments. A wait for the lock ends with `storage_failed`. */
export function loginRecords(inner: TokenStorage, clock: Clock): PendingLogins {
  const storage = boundedStorage(inner)
  const exclusively = <T>(task: () => Promise<T>): Promise<T> =>
    runLocked(inner, prefix, task, { maxWaitMs, timedOut: storageFailed })
  return {
    save: (pending) =>
      exclusively(async () => {
        const entry: IndexEntry = [pending.state, pending.createdAtMs, 'pending']
        await storage.setItem(itemKey(pending.state), JSON.stringify(pending))
        await writeIndex(storage, [entry, ...(await readIndex(storage))], clock.wallMs())
      }),
    take: (callback) =>
      exclusively(async () => {
        const state = stateOf(callback)
        const raw = state && (await storage.getItem(itemKey(state)))
        const index = await readIndex(storage)
        if (!state || raw == null || raw === '') throw notFound(index, state)
        await storage.removeItem(itemKey(state))
        const [, createdAtMs = clock.wallMs()] = index.find(([known]) => known === state) ?? []
        const taken: IndexEntry = [state, createdAtMs, 'taken']
        const others = index.filter(([known]) => known !== state)
        await writeIndex(storage, [taken, ...others], clock.wallMs())
        // readCallback rejects a damaged record.
        return redacted(ownMembers(Object(parse(raw)) as PendingLogin), 'PendingLogin')
      }),
  }
}

/** Returns the same records. All errors of the storage become `storage_failed`. */
function boundedStorage(inner: TokenStorage): TokenStorage {
  return {
    getItem: (key) => bounded(async () => inner.getItem(key)),
    setItem: (key, value) => bounded(async () => inner.setItem(key, value)),
    removeItem: (key) => bounded(async () => inner.removeItem(key)),
  }
}

function notFound(index: readonly IndexEntry[], state: string | undefined): AgentAuthError {
  return index.some(([known]) => known === state)
    ? new AgentAuthError(
        'already_handled',
        'This login was finished before. Continue with its session, or sign in again.',
      )
    : loginNotFound()
}

function stateOf(callback: string | URL): string | undefined {
  const state = attempt(() => new URL(callback, 'https://callback.invalid').searchParams.get('state')) ?? ''
  // Other text cannot be a state of this library, and a storage could give its characters a meaning.
  return isState(state) ? state : undefined
}

async function readIndex(storage: TokenStorage): Promise<IndexEntry[]> {
  const value = parse(await storage.getItem(prefix))
  return Array.isArray(value) ? (value as IndexEntry[]).filter((entry) => Array.isArray(entry)) : []
}

async function writeIndex(storage: TokenStorage, entries: readonly IndexEntry[], nowMs: number): Promise<void> {
  const kept: IndexEntry[] = []
  for (const entry of entries) {
    const [state, createdAtMs, use] = entry
    if (kept.length < maxPendingLogins && nowMs - createdAtMs <= maxLoginMs) kept.push(entry)
    else if (use === 'pending') await storage.removeItem(itemKey(state))
  }
  await storage.setItem(prefix, JSON.stringify(kept))
}

function itemKey(state: string): string {
  return `${prefix}:${state}`
}

function parse(raw: unknown): unknown {
  return typeof raw === 'string' ? attempt(() => JSON.parse(raw)) : raw
}
