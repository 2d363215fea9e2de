import type { PendingLogin } from './authorize.ts'
import { pendingLifeMs } from './callback.ts'
import { checkArgument, checkNames, clockKind, storageKind } from './config/options.ts'
import { AgentAuthError, isAgentAuthError } from './errors.ts'
import { type Clock, systemClock } from './internal/clock.ts'
import { redacted } from './internal/redacted.ts'
import { withDeadline } from './internal/timeouts.ts'
import { inProcessLock } from './storage/lock.ts'
import type { TokenStorage } from './storage/token-storage.ts'

const maxPending = 16
const prefix = 'agent-auth:login'
/** For the lock and the operations together. */
const limitMs = 10_000

/** Keeps the logins on their way, one record per state, apart from tokens. */
export interface PendingLogins {
  /** Saves before the person is sent away; prunes to the newest sixteen of the last ten minutes. Rejects with `storage_failed`. */
  save(pending: PendingLogin): Promise<void>
  /**
   * Returns the login a callback belongs to and forgets it, so that one state is used once. Rejects with
   * `already_handled`, `flow_not_found` or `storage_failed`; what has no state of ours changes nothing.
   */
  take(callback: string | URL): Promise<PendingLogin>
}

/** Of each login: its state, when it began, and whether its callback came. */
type IndexEntry = readonly [state: string, createdAtMs: number, use: 'pending' | 'taken']

/** Keeps logins in a storage that only this person's browser or session can read. Rows: ten minutes, sixteen at most. */
export function pendingLogins(inner: TokenStorage, options: { clock?: Clock | undefined } = {}): PendingLogins {
  checkArgument('storage', inner, storageKind)
  // A config of createAuthConfig, which has a clock, will do as well.
  if (!('emit' in options)) checkNames('pendingLogins', options, ['clock'])
  const { clock = systemClock } = options
  checkArgument('clock', clock, clockKind)
  const storage = typed(inner)
  const exclusively = async <T>(task: () => Promise<T>): Promise<T> => {
    const mistakes: unknown[] = []
    const bounded = (): Promise<T> =>
      withDeadline(limitMs, task).catch((error) => {
        if (!isAgentAuthError(error)) mistakes.push(error)
        throw error
      })
    const locked = async (signal: AbortSignal): Promise<T> =>
      inner.withLock?.(prefix, bounded, { signal }) ?? inProcessLock(inner, prefix, bounded, { signal })
    try {
      return await withDeadline(limitMs, locked)
    } catch (error) {
      // A mistake in the program passes as it is: no storage made it, so that it quotes none.
      if (mistakes.includes(error)) throw error
      throw isAgentAuthError(error) && /^(already|flow|storage)_/.test(error.code) ? error : storageFailed()
    }
  }
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
        // A damaged record is one that nothing fits.
        return redacted(Object(parse(raw) ?? {}) as PendingLogin, 'PendingLogin')
      }),
  }
}

/** The same records; what an operation fails with becomes `storage_failed`. */
function typed(inner: TokenStorage): TokenStorage {
  const settled = async <T>(operation: () => T | Promise<T>): Promise<T> => {
    try {
      return await operation()
    } catch (error) {
      throw isAgentAuthError(error) ? error : storageFailed()
    }
  }
  return {
    getItem: (key) => settled(() => inner.getItem(key)),
    setItem: (key, value) => settled(() => inner.setItem(key, value)),
    removeItem: (key) => settled(() => inner.removeItem(key)),
  }
}

function notFound(index: readonly IndexEntry[], state: string | null): AgentAuthError {
  return index.some(([known]) => known === state)
    ? new AgentAuthError('already_handled', 'This callback was handled before. Go on with the session there is.')
    : new AgentAuthError('flow_not_found', 'No login was started here, or its record is gone. Start the login again.')
}

function stateOf(callback: string | URL): string | null {
  try {
    const state = new URL(callback, 'https://callback.invalid').searchParams.get('state')
    // Nothing else can be ours, and a storage may read more into a key.
    return state && /^[\w.~-]{22,512}$/.test(state) ? state : null
  } catch {
    return null
  }
}

async function readIndex(storage: TokenStorage): Promise<IndexEntry[]> {
  const value = parse((await storage.getItem(prefix)) ?? '[]')
  return Array.isArray(value) ? (value as IndexEntry[]).filter((entry) => Array.isArray(entry)) : []
}

async function writeIndex(storage: TokenStorage, entries: readonly IndexEntry[], nowMs: number): Promise<void> {
  const kept: IndexEntry[] = []
  for (const entry of entries) {
    const [state, createdAtMs, use] = entry
    if (kept.length < maxPending && nowMs - createdAtMs <= pendingLifeMs) kept.push(entry)
    else if (use === 'pending') await storage.removeItem(itemKey(state))
  }
  await storage.setItem(prefix, JSON.stringify(kept))
}

function itemKey(state: string): string {
  return `${prefix}:${state}`
}

function parse(raw: unknown): unknown {
  if (typeof raw !== 'string') return raw
  try {
    return JSON.parse(raw)
  } catch {
    return {}
  }
}

/** The storage's own error is dropped: it may quote the record. */
function storageFailed(): AgentAuthError {
  return new AgentAuthError(
    'storage_failed',
    'The storage for pending logins failed. The login was not started or finished.',
    { retryable: true },
  )
}
