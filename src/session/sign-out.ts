import { succeedsOrThrowsBug } from '../internal/timeouts.ts'
import { recordNotRemoved } from './errors.ts'
import type { SessionParts } from './parts.ts'
import { isRecord, type Stored } from './record.ts'
import type { RefreshRetries } from './refresh-retries.ts'
import { tryRead } from './store.ts'

export interface SignOut {
  /**
   * Resolves to whether the first read and removal succeeded. From then on a record that can be read is removed only if its sign-in
   * ended here or was replaced elsewhere.
   */
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
    // If the read failed, it is unknown whose record was removed. So this removal counts as failed, and `removeAgain` also removes a
    // record that it cannot read. `succeedsOrThrowsBug` makes `false` of each error of the library, so it does not matter which one is
    // thrown.
    if (!stored) throw store.failure
  }
  const firstRemoval = succeedsOrThrowsBug(endStored)
  sync.ignoreUntil(firstRemoval)
  return { firstRemoval, done: removeAgain(parts, firstRemoval) }
}

/**
 * Ends a session whose current tokens are not saved. A write of them may still be in progress, so its record is removed
 * under the lock. A record of a sign-in that has not ended here and was not replaced elsewhere stays.
 */
export function endUnsaved({ store, current }: SessionParts, retries: RefreshRetries): void {
  if (!current.record || current.expected.kind === 'saved') return
  retries.cancel()
  current.end('signed_out')
  current.notify()
  void succeedsOrThrowsBug(() =>
    store.locked(async () => {
      const stored = await store.read()
      if (isRecord(stored) && current.isUnwanted(stored.id)) await store.remove()
    }),
  )
}

/** Removes again under the lock, because a refresh or a save elsewhere may have written the record after the first removal. */
async function removeAgain(parts: SessionParts, firstRemoval: Promise<boolean>): Promise<void> {
  const { store, current, problems, sync } = parts
  const hasFirstSucceeded = await firstRemoval
  const remove = async (): Promise<void> => {
    const stored = await (hasFirstSucceeded ? store.read() : tryRead(store))
    // If the first read or removal failed, a record that cannot be read is removed, because the user must not stay signed in. If
    // both succeeded, such a record stays, because it may be that of a later sign-in.
    const isToRemove = isRecord(stored) ? current.isUnwanted(stored.id) : !hasFirstSucceeded && isRemovable(stored)
    if (isToRemove) await store.remove()
    // If the first read or removal failed, a record that stays may be the one to remove, or that of a later sign-in. This counts as
    // failed, so that `signOut` rejects with `recordNotRemoved`.
    else if (isRecord(stored) && !hasFirstSucceeded) throw store.failure
    // If there is no record, end the session that a concurrent call loaded.
    if (stored === 'absent') sync.applyStored(stored)
  }
  // The lock waits for a refresh elsewhere that is between its last read and its write. If the lock or the removal under it failed,
  // remove without the lock, because such a refresh may have saved the record. If the first read or removal failed as well, `signOut`
  // rejects instead, because storage that does not respond would delay it by the time-outs of two more operations.
  let isRemoved = await succeedsOrThrowsBug(() => store.locked(remove))
  if (hasFirstSucceeded && !isRemoved) isRemoved = await succeedsOrThrowsBug(remove)
  current.notify()
  if (isRemoved) return
  problems.report('remove_failed')
  throw recordNotRemoved()
}

/**
 * Returns whether a record may be removed. One whose read or decryption failed (undefined), or that is no valid record (`unreadable`),
 * may.
 */
function isRemovable(stored: Stored | undefined): boolean {
  return stored !== 'absent' && stored !== 'newer' && stored !== 'foreign'
}
