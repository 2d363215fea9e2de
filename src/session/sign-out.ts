import { succeedsOrThrowsBug } from '../internal/timeouts.ts'
import { recordNotRemoved } from './errors.ts'
import { isLeftAlone, isRecord, type Stored } from './record.ts'
import { tryRead } from './store.ts'
import type { SessionParts } from './sync.ts'

export interface Removal {
  /** Resolves to whether the record was read and removed without the lock. From then on a later sign-in is safe from this sign-out. */
  readonly first: Promise<boolean>
  /** Rejects with `storage_failed` if the record may still be there. */
  readonly done: Promise<void>
}

/**
 * Removes the record of a session that ended in memory: first without the lock, because a wait for it may be long, then under the lock,
 * because a refresh or a sign-in elsewhere may have written the record in between.
 */
export function removeRecord(parts: SessionParts): Removal {
  const { store, memory } = parts
  const first = succeedsOrThrowsBug(async () => {
    const stored = await tryRead(store)
    if (isRecord(stored)) memory.forget(stored.id)
    if (isRemovable(stored)) await store.remove()
    // It is unknown whose record was removed. So this removal counts as failed, and the next one also removes what it cannot read.
    if (!stored) throw store.failure
  })
  return { first, done: removeAgain(parts, first) }
}

async function removeAgain({ store, memory, sync }: SessionParts, first: Promise<boolean>): Promise<void> {
  const isFirstDone = await first
  const removeEnded = async (): Promise<void> => {
    const stored = await (isFirstDone ? store.read() : tryRead(store))
    // After a first removal, another record may be that of a later sign-in, and stays.
    const isEnded = isRecord(stored) ? memory.ended.includes(stored.id) : !isFirstDone && isRemovable(stored)
    if (isEnded) await store.remove()
    // A record that stays may be the one to remove.
    else if (isRecord(stored) && !isFirstDone) throw store.failure
    // A concurrent call may have loaded the record before it was removed.
    if (stored === 'absent') await sync.read()
  }
  // If the lock or the removal under it failed, remove without the lock, because a refresh elsewhere may have saved the record. If the
  // first removal failed as well, reject, because a storage that does not respond would delay it by more time-outs.
  let isRemoved = await succeedsOrThrowsBug(() => store.locked(removeEnded))
  if (isFirstDone && !isRemoved) isRemoved = await succeedsOrThrowsBug(removeEnded)
  memory.notify()
  if (isRemoved) return
  store.report('remove_failed')
  throw recordNotRemoved()
}

/** Returns whether the content may be removed. That includes a record whose read or decryption failed (undefined). */
function isRemovable(stored: Stored | undefined): boolean {
  return stored !== 'absent' && !isLeftAlone(stored)
}
