import { isLeftAlone, isSame, type SessionRecord, type Stored, signInMs } from './record.ts'

/** What one page or process knows of the session. */
export interface Mine {
  /** The tokens in memory, if a user is signed in. */
  readonly record: SessionRecord | undefined
  /** The sign-ins that ended here: signed out, refused, replaced by another sign-in, or never saved. */
  readonly ended: ReadonlySet<string>
  /** The sign-in of `ended` whose token expired. By the clock of another machine it may be valid, so its record stays. */
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
  const isUnusable = stored === 'unreadable' || ended.has(stored.id)
  if (!record) {
    if (!isUnusable) return 'take'
    return stored !== 'unreadable' && stored.id === expired ? 'keep' : 'remove'
  }
  if (isUnusable) return 'unsaved'
  if (isSame(stored, record)) return 'saved'
  return isLater(record, stored) ? 'unsaved' : 'take'
}

/** Returns whether it is a later revision than the other record, or that of a later sign-in. Equal ones are not, so that two pages agree. */
function isLater(record: SessionRecord, other: SessionRecord): boolean {
  return record.id === other.id ? record.rev > other.rev : signInMs(record) > signInMs(other)
}
