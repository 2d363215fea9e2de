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
  parseObject,
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

/** A login of the index. Its record is the login, or says that its callback came. */
type IndexEntry = readonly [state: string, createdAtMs: number]

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

/** Does the work of `pendingLogins` for callers that have checked its arguments. All errors of the storage become `storage_failed`. */
export function loginRecords(storage: TokenStorage, clock: Clock): PendingLogins {
  const exclusively = <T>(task: () => Promise<T>): Promise<T> =>
    runLocked(storage, prefix, () => bounded(task), { maxWaitMs, timedOut: storageFailed })
  return {
    async save(pending) {
      const nowMs = clock.wallMs()
      await exclusively(async () => {
        await storage.setItem(itemKey(pending.state), JSON.stringify(pending))
        const entry: IndexEntry = [pending.state, pending.createdAtMs]
        await writeIndex(storage, [entry, ...(await readIndex(storage))], nowMs)
      })
    },
    async take(callback) {
      const state = stateOf(callback)
      if (!state) throw loginNotFound()
      const login = await exclusively(async () => {
        const found = parseObject(await storage.getItem(itemKey(state)))
        if (found && !found.taken) await storage.setItem(itemKey(state), JSON.stringify({ taken: true }))
        return found
      })
      if (!login) throw loginNotFound()
      if (login.taken)
        throw new AgentAuthError(
          'already_handled',
          'This login was finished before. Continue with its session, or sign in again.',
        )
      // `readCallback` rejects a damaged record.
      return redacted(login as object as PendingLogin, 'PendingLogin')
    },
  }
}

function stateOf(callback: string | URL): string | undefined {
  const state = attempt(() => new URL(callback, 'https://callback.invalid').searchParams.get('state')) ?? ''
  // Other text cannot be a state of this library, and a storage could give its characters a meaning.
  return isState(state) ? state : undefined
}

async function readIndex(storage: TokenStorage): Promise<IndexEntry[]> {
  const raw: unknown = await storage.getItem(prefix)
  const value = typeof raw === 'string' ? attempt(() => JSON.parse(raw)) : raw
  return Array.isArray(value) ? (value as IndexEntry[]).filter((entry) => Array.isArray(entry)) : []
}

async function writeIndex(storage: TokenStorage, entries: readonly IndexEntry[], nowMs: number): Promise<void> {
  const kept: IndexEntry[] = []
  for (const entry of entries) {
    const [state, createdAtMs] = entry
    if (kept.length < maxPendingLogins && nowMs - createdAtMs <= maxLoginMs) kept.push(entry)
    else await storage.removeItem(itemKey(state))
  }
  await storage.setItem(prefix, JSON.stringify(kept))
}

function itemKey(state: string): string {
  return `${prefix}:${state}`
}
