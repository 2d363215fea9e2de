import type { AuthConfig } from '../config.ts'
import { removeAgainMs } from '../internal/limits.ts'
import type { CurrentSession } from './current.ts'
import { expectSaved, reconcile } from './reconcile.ts'
import { isRecord, type SessionRecord, type Stored } from './record.ts'
import type { StorageProblems } from './storage-problems.ts'
import type { SessionStore } from './store.ts'

/** Decides what a record that was read changes here, and does it. */
export interface RecordApplier {
  /** Applies a record that was read: takes it over, expects it, or ends the session. Listeners are not notified. */
  applyStored(stored: Stored): void
  /**
   * Applies no record until the work has ended. After that, `revalidate` (storage-sync.ts) discards its own read that began before the end.
   * `applyStored` does not know when a read began, so it applies an earlier read of any other caller.
   */
  ignoreUntil(work: Promise<unknown>): void
}

/** The parts of a session that reading and applying its record needs. */
export interface SyncedParts {
  readonly config: AuthConfig
  readonly store: SessionStore
  readonly current: CurrentSession
  readonly problems: StorageProblems
}

export function recordApplier({ config, store, current, problems }: SyncedParts): RecordApplier {
  /** The earliest time of the next removal, on the monotonic clock. */
  let nextRemovalMs = 0
  let unfinishedWork = 0

  function applyStored(stored: Stored): void {
    if (unfinishedWork > 0) return
    problems.clear('read_failed')
    if (stored === 'absent' || isRecord(stored)) problems.clear('unreadable', 'newer', 'foreign')
    else problems.report(stored)
    if (stored === 'unreadable') removeUnwanted((still) => still === stored)
    if (current.record) change(current, stored, current.record)
    else if (isRecord(stored)) load(stored)
    current.finishLoading()
  }

  function load(stored: SessionRecord): void {
    if (!current.isUnwanted(stored.id)) current.set(stored, expectSaved)
    else if (current.expired !== stored.id) removeUnwanted((still) => isRecord(still) && current.isUnwanted(still.id))
  }

  /**
   * Removes a record that should not be there, such as one whose write took effect after a sign-out, if it is still there. It does
   * so at most once in `removeAgainMs`, 5 s.
   */
  function removeUnwanted(isStill: (stored: Stored) => boolean): void {
    if (config.clock.monotonicMs() < nextRemovalMs) return
    nextRemovalMs = config.clock.monotonicMs() + removeAgainMs
    const remove = async (): Promise<void> => {
      if (isStill(await store.read())) await store.remove()
    }
    store.locked(remove).catch(() => problems.report('remove_failed'))
  }

  function ignoreUntil(work: Promise<unknown>): void {
    unfinishedWork++
    const finish = (): void => {
      unfinishedWork--
      current.ignoreReads()
    }
    work.then(finish, finish)
  }

  return { applyStored, ignoreUntil }
}

function change(current: CurrentSession, stored: Stored, record: SessionRecord): void {
  const decided = reconcile(stored, { record, expected: current.expected, isUnwanted: current.isUnwanted })
  if (decided.change === 'expect') current.expect(decided.expected)
  if (decided.change === 'take') current.set(decided.record, expectSaved)
  if (decided.change === 'end') current.end('store_lost')
}
