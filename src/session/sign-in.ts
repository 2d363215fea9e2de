import { isLeftAlone, isRecord, isSame, type SessionRecord, type Stored, signInMs } from './record.ts'
import { tryRead } from './store.ts'
import type { SessionParts } from './sync.ts'

/**
 * Saves a sign-in, which exists only if it is saved. Under the lock it reads, writes over what it finds, and only then is the user signed
 * in. Returns `false` if `isLatest` says that a later call took effect instead. If the lock or the write fails, the user stays signed out,
 * the record that would have been replaced is removed as far as possible, and it rejects with `storage_failed` or `lock_timeout`.
 *
 * A record that is `newer` or `foreign` is not replaced. Then the sign-in is in memory only.
 */
export async function saveSignIn(
  { store, memory }: SessionParts,
  begun: SessionRecord,
  isLatest: () => boolean,
): Promise<boolean> {
  async function writeOver(): Promise<boolean> {
    // What cannot be read is written over, because the user must not stay signed in as another one.
    const found = await tryRead(store)
    if (!isLatest()) return false
    if (isLeftAlone(found)) {
      store.report(found)
      memory.become(begun)
      memory.unsaved = true
      return true
    }
    const record = laterThan(found, begun)
    try {
      await store.write(record)
    } catch (error) {
      // A write that is reported as failed may have taken effect.
      const left = await tryRead(store)
      if (!isSame(left, record)) {
        if (isEarlier(left, record)) await store.remove().catch(() => {})
        throw error
      }
    }
    if (isLatest()) {
      if (isRecord(found)) memory.forget(found.id)
      memory.become(record)
      return true
    }
    // The user signed out during the write, here or elsewhere. A later sign-in writes over what it finds.
    await store.remove()
    return false
  }

  try {
    return await store.locked(writeOver)
  } catch (error) {
    memory.forget(begun.id)
    const left = await tryRead(store)
    // Otherwise the next read would sign the earlier user in again.
    if (isEarlier(left, begun)) memory.forget(left.id)
    throw error
  }
}

function isEarlier(stored: Stored | undefined, record: SessionRecord): stored is SessionRecord {
  return isRecord(stored) && signInMs(stored) < signInMs(record)
}

/** Returns the sign-in with a time that is later than that of the record that it replaces, also if the clocks of two machines differ. */
function laterThan(found: Stored | undefined, record: SessionRecord): SessionRecord {
  return isRecord(found) ? { ...record, signedInAtMs: Math.max(signInMs(record), signInMs(found) + 1) } : record
}
