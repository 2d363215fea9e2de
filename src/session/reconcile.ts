import { isRecord, type SessionRecord, type Stored, signInMs } from './record.ts'

/** The record that the storage should show as long as only this session changes it. */
export type ExpectedRecord =
  /** The current tokens: a write succeeded, or a read showed them. */
  | { readonly kind: 'saved' }
  /**
   * Any record: the first save of a new sign-in is in progress, and it writes over the record it finds, unless that is of a
   * newer version or `foreign`. `write` says whether it has sent its write (`expectedWhileUnsaved` in refresh.ts).
   */
  | { readonly kind: 'first_save'; readonly write: 'none' | 'sent' }
  | UnsavedRecord
  /** A record that is `newer` or `foreign`, which is neither replaced nor removed. */
  | { readonly kind: 'left_alone' }

/**
 * A write of the current tokens is pending: a write failed or has no known result, none was sent because the lock or a read failed, or a
 * read showed an unreadable or an older record, perhaps after a write that succeeded.
 */
export interface UnsavedRecord {
  /**
   * What a missing record means.
   *
   * - `unsaved`: as far as is known, no write of this sign-in has taken effect, or its record became unreadable and is removed. A missing
   *   record is no sign-out.
   * - `perhaps_saved`: a write failed, and it may have taken effect. A missing record is a sign-out elsewhere, also if `over` is
   *   `absent`. If a read shows another record, and it is the one in `over`, the write took no effect. If `over` is `unread`, a first
   *   read that shows an earlier sign-in proves the same.
   * - `was_saved`: a write took effect, or no read can prove any more that none did. The second is so if the kind was `perhaps_saved` and
   *   a read shows an older record that is not the one in `over`. `over` is the shown record from then on. A missing record is a sign-out
   *   elsewhere.
   */
  readonly kind: 'unsaved' | 'perhaps_saved' | 'was_saved'
  /**
   * The record, or the absence of one, that the pending write replaces. `unread`: it is unknown, because no read has succeeded, or because
   * a refresh during the first save could not save its tokens (`expectedWhileUnsaved` in refresh.ts).
   */
  readonly over: SessionRecord | 'absent' | 'unread'
}

/** The change that a stored record makes to a session that has tokens. */
export type StoredChange =
  | { readonly change: 'none' }
  /** The session keeps its tokens and expects this record from now on. */
  | { readonly change: 'expect'; readonly expected: ExpectedRecord }
  /** The session takes over the tokens of this record. */
  | { readonly change: 'take'; readonly record: SessionRecord }
  /** The record was removed elsewhere, so the session ends. */
  | { readonly change: 'end' }

export const expectSaved: ExpectedRecord = { kind: 'saved' }
export const expectAbsent: UnsavedRecord = { kind: 'unsaved', over: 'absent' }

/** Decides, for a session with tokens, what a stored record changes. */
export function reconcile(
  stored: Stored,
  {
    record,
    expected,
    isUnwanted,
  }: { record: SessionRecord; expected: ExpectedRecord; isUnwanted(signInId: string): boolean },
): StoredChange {
  if (stored === 'newer' || stored === 'foreign') return expect({ kind: 'left_alone' })
  // A write that was reported as failed took effect if the record is there.
  if (isSameRecord(stored, record)) return expect(expectSaved)
  if (expected.kind === 'first_save') return { change: 'none' }
  // `applyStored` (apply-stored.ts) removes the unreadable record. So if a later read shows no record, that is no sign-out, even if this
  // sign-in was saved.
  if (stored === 'unreadable') return expect(expectAbsent)
  if (stored === 'absent') return expected.kind === 'unsaved' ? expect(expectAbsent) : { change: 'end' }
  // If a write with an unknown result had taken effect, this record would not be there.
  if (isToBeWrittenOver(stored, expected))
    return expected.kind === 'perhaps_saved' ? expect({ kind: 'unsaved', over: stored }) : { change: 'none' }
  const isOlder =
    stored.id === record.id
      ? stored.rev < record.rev
      : isUnwanted(stored.id) || isEarlierSignIn(stored, record, expected)
  if (!isOlder) return { change: 'take', record: stored }
  // - An older record of this sign-in proves that a write took effect: `was_saved`.
  // - The record of another sign-in proves nothing after `unsaved`, which stays.
  // - After `perhaps_saved`, only the record in `over` could prove that no write took effect. `stored` replaces it there: `was_saved`.
  // - With `unread`, the record of another sign-in is taken as the one before the write. So no write took effect: `unsaved`.
  const isUnsaved = stored.id !== record.id && (expected.kind === 'unsaved' || isUnread(expected))
  return expect({ kind: isUnsaved ? 'unsaved' : 'was_saved', over: stored })
}

/** Returns whether both are the same revision of the same sign-in with the same access token. */
export function isSameRecord(one: Stored | undefined, other: Stored | 'unread'): boolean {
  if (!isRecord(one) || !isRecord(other)) return false
  return one.id === other.id && one.rev === other.rev && one.tokens.accessToken === other.tokens.accessToken
}

/**
 * Returns whether the storage had a record of this sign-in when it was last read or written, and not whether it ever had one. If so,
 * another process may have sent the refresh token that is in memory here. An earlier revision in the storage is enough for that: the other
 * process sends the earlier refresh token, and within the grace period the service responds with the tokens that are in memory here. So it
 * has the same refresh token then.
 */
export function isSignInStored({ id }: SessionRecord, expected: ExpectedRecord): boolean {
  return expected.kind === 'saved' || ('over' in expected && isRecord(expected.over) && expected.over.id === id)
}

function expect(expected: ExpectedRecord): StoredChange {
  return { change: 'expect', expected }
}

/** Returns whether this record is the one that the pending write writes over. */
function isToBeWrittenOver(stored: SessionRecord, expected: ExpectedRecord): boolean {
  return 'over' in expected && isSameRecord(stored, expected.over)
}

/**
 * Returns whether the record of another sign-in is earlier than the current sign-in. If a write is pending, and this session has not
 * read the storage (`unread`) or the record was not saved at once (`late`), the times of both sign-ins decide. In all other cases
 * the record is later, because it appeared after this session had read or written the storage.
 */
function isEarlierSignIn(stored: SessionRecord, current: SessionRecord, expected: ExpectedRecord): boolean {
  return (isUnread(expected) || ('over' in expected && stored.late === true)) && signInMs(stored) < signInMs(current)
}

function isUnread(expected: ExpectedRecord): boolean {
  return 'over' in expected && expected.over === 'unread'
}
