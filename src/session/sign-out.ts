import { succeeds } from '../internal/timeouts.ts'
import { recordNotRemoved } from './errors.ts'
import { isLeftAlone, isRecord } from './record.ts'
import { tryRead } from './store.ts'
import type { SessionParts } from './sync.ts'

/**
 * Removes the record of a session that ended in memory: first without the lock, because a wait for it may be long, then under the lock,
 * because a refresh or a sign-in elsewhere may have written the record in between. `first` resolves to whether the record was read and
 * removed without the lock. From then on a later sign-in is safe from this sign-out. `done` rejects with `storage_failed` if the record may
 * still be there.
 */
export function removeRecord({ store, memory }: SessionParts): { first: Promise<boolean>; done: Promise<void> } {
  let isRead = false

  /** Removes what the first read finds, and what cannot be read. After that, another record is that of a later sign-in, and stays. */
  async function remove(): Promise<void> {
    const stored = await tryRead(store)
    if (isRecord(stored) && !isRead) memory.forget(stored.id)
    const isUnusable = !isRead && stored !== 'absent' && !isLeftAlone(stored)
    const isEnded = isRecord(stored) ? memory.ended.includes(stored.id) : isUnusable
    isRead ||= stored !== undefined
    if (isEnded) await store.remove()
    else if (!stored) throw recordNotRemoved()
  }

  // If nothing could be read, it is unknown whose record was removed.
  const first = succeeds(remove()).then((isDone) => isDone && isRead)
  return { first, done: removeAgain() }

  async function removeAgain(): Promise<void> {
    const isFirstDone = await first
    try {
      await store.locked(remove)
    } catch (error) {
      // A refresh elsewhere may have saved the record. If nothing has worked so far, a storage that does not respond would take long.
      if (isFirstDone && (await succeeds(remove()))) return
      store.report('remove_failed', error)
      throw recordNotRemoved()
    } finally {
      memory.notify()
    }
  }
}
