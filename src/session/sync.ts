import type { AuthConfig } from '../config.ts'
import { isAgentAuthError } from '../errors.ts'
import { discardAgainMs, revalidateAfterMs } from '../internal/limits.ts'
import { attempted } from '../internal/timeouts.ts'
import type { MaybePromise } from '../storage/token-storage.ts'
import type { CurrentSession } from './current.ts'
import type { StorageProblems } from './problems.ts'
import { expectSaved, reconcile } from './reconcile.ts'
import { isRecord, type SessionRecord, type Stored } from './record.ts'
import { isPromise, type SessionStore } from './store.ts'

/** Keeps what is current in step with the storage. */
export interface StorageSync {
  /**
   * Reads the storage if the last read is too old (`due`), or always (`now`), and applies the record. Rejects with
   * `storage_failed` if the read fails and there are no tokens. `now` does not share a read in progress, because that read may
   * have begun before the change.
   */
  revalidate(when?: 'due' | 'now'): MaybePromise<void>
  /** Applies a record that was read: takes it over, expects it, or ends the session. Listeners are not notified. */
  applyStored(stored: Stored): void
  /** Applies no record until the work has ended, nor one whose read began before that. */
  ignoreUntil(work: Promise<unknown>): void
}

/** The parts that `storageSync` connects. */
export interface SyncedParts {
  readonly config: AuthConfig
  readonly store: SessionStore
  readonly current: CurrentSession
  readonly problems: StorageProblems
}

export function storageSync({ config, store, current, problems }: SyncedParts): StorageSync {
  /** The record applied last, and the version after that: applying it again would change nothing. */
  let applied: { readonly stored: Stored; readonly version: number } | undefined
  let reading: Promise<void> | undefined
  // NaN means "never", because every comparison with NaN is false.
  let readAtMs = Number.NaN
  let discardAtMs = Number.NaN
  let pendingSignOuts = 0
  let finishedSignOuts = 0
  const nowMs = (): number => config.clock.monotonicMs()
  const version = (): number => current.version + finishedSignOuts

  function revalidate(when: 'due' | 'now' = 'due'): MaybePromise<void> {
    if (reading !== undefined) {
      const before = reading
      return when === 'due' ? before : attempted(() => before).then(() => revalidate(when))
    }
    if (when === 'due' && current.record && nowMs() - readAtMs < revalidateAfterMs) return
    try {
      const stored = store.read()
      if (!isPromise(stored)) return applyAndNotify(stored)
      reading = applyLater(stored)
      return reading
    } catch (error) {
      goOnWithoutRead(error)
    }
  }

  async function applyLater(read: Promise<Stored>): Promise<void> {
    const begun = version()
    try {
      const stored = await read
      if (begun !== version()) return
      applyAndNotify(stored)
      readAtMs = nowMs()
    } catch (error) {
      goOnWithoutRead(error)
    } finally {
      reading = undefined
    }
  }

  function applyAndNotify(stored: Stored): void {
    // The store returns the same object while nothing changes, so that the usual call stops here.
    const isKnown = applied?.stored === stored && applied.version === version()
    if (isKnown && current.record && current.expected.kind === 'saved') return
    applyStored(stored)
    applied = { stored, version: version() }
    current.notify()
  }

  /** A session that has tokens does not need the storage. */
  function goOnWithoutRead(error: unknown): void {
    if (!current.record || !isAgentAuthError(error)) throw error
    applied = undefined
    readAtMs = nowMs()
    problems.report('read_failed')
  }

  function applyStored(stored: Stored): void {
    if (pendingSignOuts > 0) return
    if (stored === 'absent' || isRecord(stored)) problems.clear('read_failed', 'unreadable', 'newer', 'foreign')
    else problems.report(stored)
    if (stored === 'unreadable') discard((still) => still === stored)
    if (current.record) change(stored, current.record)
    else if (isRecord(stored)) load(stored)
    current.finishLoading()
  }

  function change(stored: Stored, record: SessionRecord): void {
    const decided = reconcile(stored, { current: record, expected: current.expected, hasEnded: current.hasEnded })
    if (decided.change === 'expect') current.expect(decided.expected)
    if (decided.change === 'take') current.set(decided.record, expectSaved)
    if (decided.change === 'end') current.end('store_lost')
  }

  function load(stored: SessionRecord): void {
    if (!current.hasEnded(stored.id)) current.set(stored, expectSaved)
    // An expired session keeps its record, because by the clock of another machine its token may be valid.
    else if (current.state.reason !== 'expired') discard((still) => isRecord(still) && current.hasEnded(still.id))
  }

  /** Removes a record that should not be there, such as one whose write took effect after a sign-out, if it is still there. */
  function discard(isStill: (stored: Stored) => boolean): void {
    if (nowMs() < discardAtMs) return
    discardAtMs = nowMs() + discardAgainMs
    const remove = async (): Promise<void> => {
      if (isStill(await store.read())) await store.remove()
    }
    store.locked(remove).catch(() => problems.report('remove_failed'))
  }

  function ignoreUntil(work: Promise<unknown>): void {
    pendingSignOuts++
    const finish = (): void => {
      pendingSignOuts--
      finishedSignOuts++
    }
    work.then(finish, finish)
  }

  return { revalidate, applyStored, ignoreUntil }
}
