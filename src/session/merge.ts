import { isLeftAlone, isSame, type SessionRecord, type Stored, signInMs } from './record.ts'

/** What one page or process knows: the tokens in memory, the sign-ins that ended here, and the one of them whose token expired. */
export interface Mine {
  readonly record: SessionRecord | undefined
  readonly ended: readonly string[]
  readonly expired: string | undefined
}

/**
 * What a read changes here.
 * - `keep`: nothing. No user is signed in.
 * - `take`: the stored record replaces the tokens in memory.
 * - `end`: the record is gone, because a user signed out elsewhere or data was cleared. So the session ends.
 * - `saved`: the storage has the tokens in memory.
 * - `unsaved`: the storage lacks the tokens in memory, which are later than what it has. They are written at the next chance.
 * - `remove`: no user is signed in, and the storage has the record of a sign-in that ended here, or text that is no record.
 */
export type Merged = 'keep' | 'take' | 'end' | 'saved' | 'unsaved' | 'remove'

/** Decides what the content of the storage changes here. Every read of a session ends in this function. */
export function merge(stored: Stored, { record, ended, expired }: Mine): Merged {
  if (isLeftAlone(stored)) return record ? 'unsaved' : 'keep'
  if (stored === 'absent') return record ? 'end' : 'keep'
  const isUsable = stored !== 'unreadable' && !ended.includes(stored.id)
  if (!record) {
    if (isUsable) return 'take'
    return stored !== 'unreadable' && stored.id === expired ? 'keep' : 'remove'
  }
  if (isUsable && isSame(stored, record)) return 'saved'
  return isUsable && !isLater(record, stored) ? 'take' : 'unsaved'
}

/** Returns whether it is a later revision than the other record, or that of a later sign-in. Equal ones are not, so that two pages agree. */
function isLater(record: SessionRecord, other: SessionRecord): boolean {
  return record.id === other.id ? record.rev > other.rev : signInMs(record) > signInMs(other)
}
