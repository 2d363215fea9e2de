import { AgentAuthError } from '../errors.ts'
import { attempted } from '../internal/timeouts.ts'
import { isRecord, type Stored } from './record.ts'
import { readOr } from './save.ts'
import type { SessionHolder } from './state.ts'
import type { SessionStore } from './store.ts'

export interface SignOut {
  /** From then on only records of sign-ins that ended here are removed. */
  readonly forgotten: Promise<boolean>
  /** Rejects with `storage_failed` when the record may still be there. */
  readonly done: Promise<void>
}

/** Ends the session here at once, then in the store: first without the lock, which may be long in coming. */
export function signOut(holder: SessionHolder): SignOut {
  holder.end('signed_out')
  holder.flush()
  const forget = (stored: Stored): boolean => {
    if (isRecord(stored)) holder.end('signed_out', stored.id)
    return true
  }
  const forgotten = attempted(() => sweep(holder.store, forget))
  holder.ignoreUntil(forgotten)
  return { forgotten, done: leave(holder, forgotten) }
}

/**
 * Ends a session that the store does not show. A write of its record may still be in progress: behind the lock that record
 * is removed, and no other.
 */
export function endUnsaved(holder: SessionHolder): void {
  const { store } = holder
  holder.end('signed_out')
  holder.flush()
  void attempted(() => store.locked(() => sweep(store, (stored) => isRecord(stored) && holder.isOver(stored.id))))
}

async function leave(holder: SessionHolder, forgotten: Promise<boolean>): Promise<void> {
  const { store } = holder
  const first = await forgotten
  const again = async (): Promise<void> => {
    // A record that cannot be read now may be that of a later sign-in, unless the first removal failed.
    const stored = await sweep(store, (found) => (isRecord(found) ? holder.isOver(found.id) : !first))
    // If the record is gone, end the session that a concurrent call loaded.
    if (stored === 'absent') holder.adopt(stored)
  }
  // Read once more under the lock, because a refresh elsewhere may have been between its last read and its write. If its
  // owner does not release the lock, read without it, because that write may have taken effect.
  const second = await attempted(() => store.locked(again))
  if (first && !second) await attempted(again)
  holder.flush()
  if (first || second) return
  holder.report('remove_failed')
  throw new AgentAuthError('storage_failed', 'Signed out here, but the stored record could not be removed.', {
    retryable: true,
  })
}

/** Removes the record if it may be, and tells what it saw; what cannot be read can still be removed. */
async function sweep(store: SessionStore, mayRemove: (stored: Stored) => boolean): Promise<Stored> {
  const stored = await readOr(store, 'unreadable')
  if ((isRecord(stored) || stored === 'unreadable') && mayRemove(stored)) await store.remove()
  return stored
}
