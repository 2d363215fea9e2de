import { succeedsOrThrowsBug } from '../internal/timeouts.ts'
import { recordNotRemoved } from './errors.ts'
import type { SessionParts } from './parts.ts'
import { isRecord, type Stored } from './record.ts'
import type { RefreshSchedule } from './schedule.ts'
import { type SessionStore, tryRead } from './store.ts'

export interface SignOut {
  /** Resolves when the first removal has ended. From then on a record that can be read is removed only if its sign-in ended here. */
  readonly firstRemoval: Promise<boolean>
  /** Rejects with `storage_failed` if the record may still be there. */
  readonly done: Promise<void>
}

/**
 * Ends the session here at once, then in the storage: first without the lock, because a wait for it may be long. Sends nothing to
 * the authorization server. Only a backend revokes tokens (backend/sessions/revocation.ts).
 */
export function signOut(parts: SessionParts): SignOut {
  const { store, current, sync } = parts
  current.end('signed_out')
  current.notify()
  const endStored = async (): Promise<void> => {
    const stored = await tryRead(store)
    if (isRecord(stored)) current.markEnded(stored.id)
    if (isRemovable(stored)) await store.remove()
  }
  const firstRemoval = succeedsOrThrowsBug(endStored)
  sync.ignoreUntil(firstRemoval)
  return { firstRemoval, done: removeAgain(parts, firstRemoval) }
}

/**
 * Ends a session whose record the storage does not show. A write of it may still be in progress, so its record is removed
 * under the lock, and no other.
 */
export function endUnsaved({ store, current }: SessionParts, schedule: RefreshSchedule): void {
  if (!current.record || current.expected.kind === 'saved') return
  schedule.cancel()
  current.end('signed_out')
  current.notify()
  const removeEnded = (): Promise<unknown> =>
    removeIf(store, (stored) => isRecord(stored) && current.hasEnded(stored.id))
  void succeedsOrThrowsBug(() => store.locked(removeEnded))
}

/** Removes again under the lock, because a refresh or a save elsewhere may have written the record after the first removal. */
async function removeAgain(parts: SessionParts, firstRemoval: Promise<boolean>): Promise<void> {
  const { store, current, problems, sync } = parts
  const hasFirstSucceeded = await firstRemoval
  const remove = async (): Promise<void> => {
    // A record that cannot be read stays, because it may be a later sign-in's. If the first removal failed it goes, because the
    // user must not stay signed in.
    const stored = await removeIf(store, (found) => (isRecord(found) ? current.hasEnded(found.id) : !hasFirstSucceeded))
    // If there is no record, end the session that a concurrent call loaded.
    if (stored === 'absent') sync.applyStored(stored)
  }
  // The lock waits for a refresh elsewhere that is between its last read and its write.
  const isRemovedAgain = await succeedsOrThrowsBug(() => store.locked(remove))
  // The lock or the removal under it failed, so remove without the lock. If the first removal failed too, the storage is down, and
  // the error below tells the caller.
  if (hasFirstSucceeded && !isRemovedAgain) await succeedsOrThrowsBug(remove)
  current.notify()
  if (hasFirstSucceeded || isRemovedAgain) return
  problems.report('remove_failed')
  throw recordNotRemoved()
}

/**
 * Removes what the storage holds if the condition allows it, and returns what was read. The condition gets undefined if the read
 * failed. A `newer` or `foreign` record stays.
 */
async function removeIf(
  store: SessionStore,
  mayRemove: (stored: Stored | undefined) => boolean,
): Promise<Stored | undefined> {
  const stored = await tryRead(store)
  if (isRemovable(stored) && mayRemove(stored)) await store.remove()
  return stored
}

function isRemovable(stored: Stored | undefined): boolean {
  return stored !== 'absent' && stored !== 'newer' && stored !== 'foreign'
}
