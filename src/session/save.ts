import { isAgentAuthError } from '../errors.ts'
import { saveAgainMs } from '../internal/limits.ts'
import { succeedsOrThrowsBug } from '../internal/timeouts.ts'
import type { CurrentRecord } from './current.ts'
import type { SessionParts } from './parts.ts'
import { type ExpectedRecord, expectAbsent, expectSaved, isSameRecord, type UnsavedRecord } from './reconcile.ts'
import { isRecord, type SessionRecord, type Stored } from './record.ts'
import { type SessionStore, tryRead } from './store.ts'

/** What a failed save leaves behind. */
interface FailedSave {
  /** What to expect of the storage if the write did not take effect. */
  readonly ifNoEffect: UnsavedRecord
  /** Whether the write that failed took effect. `unknown`: it may have. */
  readonly effect: 'unknown' | 'none'
}

const unread: UnsavedRecord = { kind: 'unsaved', over: 'unread' }

/**
 * Saves a new sign-in over the record that it finds, unless that is `newer` or `foreign`. If the read fails, for example because no key
 * decrypts the record, it writes all the same, because the user must not stay signed in as another one. While `first_save` is expected, a
 * read that shows another sign-in changes nothing (`reconcile`). The tokens of a refresh are saved by `commit` in refresh.ts.
 */
export async function saveSignIn(parts: SessionParts): Promise<void> {
  const { store, current, problems } = parts
  const { record } = current
  if (!record) return
  const failed = await store
    .locked(() => writeOver(parts, record))
    .catch((error): FailedSave => {
      if (!isAgentAuthError(error)) throw error
      problems.report('write_failed')
      return { ifNoEffect: unread, effect: 'none' }
    })
  if (!failed) return
  // No new object, because `confirm` and others recognize the tokens by `===`.
  record.late = true
  await confirm(parts, record, failed)
}

/** Returns a function that repeats a pending write, at most once in `saveAgainMs`, 5 s. access-token.ts calls it for calls for a token. */
export function pendingSave(parts: SessionParts): () => void {
  const { config, current, problems } = parts
  /** The earliest time of the next write, on the monotonic clock. */
  let nextMs = 0
  return () => {
    if (!current.record || !isWriteLeft(current.expected)) return
    const nowMs = config.clock.monotonicMs()
    if (nowMs < nextMs) return
    nextMs = nowMs + saveAgainMs
    // Only an error of the program arrives at this `catch`, and no caller waits for it.
    saveAgain(parts, current.record).catch(() => problems.report('write_failed'))
  }
}

/** Writes the current record, and expects it from then on. Must be called under the lock. */
export async function writeCurrent({ store, current }: SessionParts, record: CurrentRecord): Promise<void> {
  await store.write(record)
  // Another sign-in may have replaced it during the write.
  if (current.record === record) current.expect(expectSaved)
}

/** Saves the current record, unless the storage shows a change. If that fails, the write stays pending. */
async function saveAgain(parts: SessionParts, record: CurrentRecord): Promise<void> {
  const { store, current, problems, sync } = parts
  let isSent = false
  const isDone = await succeedsOrThrowsBug(() =>
    store.locked(async () => {
      sync.applyStored(await store.read())
      if (current.record !== record || !isWriteLeft(current.expected)) return
      isSent = true
      await writeCurrent(parts, record)
    }),
  )
  // A later save may have succeeded before this one learned of its failure.
  if (!isDone && isWriteLeft(current.expected)) problems.report('write_failed')
  if (isSent && !isDone) await confirmWrite(parts)
  current.notify()
}

/**
 * Reads whether a failed write of the current record took effect. Call it when the lock is free. Only then is the answer final: the task
 * that held the lock sends no more writes, and a storage with leases refuses a write that arrives late.
 */
export async function confirmWrite(parts: SessionParts): Promise<void> {
  const { record, expected, notify } = parts.current
  if (record && isWriteLeft(expected)) await confirm(parts, record, { ifNoEffect: expected, effect: 'unknown' })
  notify()
}

async function confirm(
  { store, current, problems, sync }: SessionParts,
  record: CurrentRecord,
  { ifNoEffect, effect }: FailedSave,
): Promise<void> {
  const stored = await tryRead(store)
  // `saveSignIn` calls this function while `first_save` is still expected. If a refresh has set new tokens meanwhile, `record` is an old
  // one, and that call does nothing. `confirmWrite` calls it for the new tokens.
  const isToConfirm = isWriteLeft(current.expected) || current.expected.kind === 'first_save'
  if (current.record !== record || !isToConfirm) return
  const { kind, over } = ifNoEffect
  if (!stored) problems.report('read_failed')
  // The write may have taken effect if this read failed, or if the record to write over is gone. Then another page or process may have seen
  // this sign-in and signed it out. With `perhaps_saved`, a missing record ends the session, here or at a later read.
  if (kind === 'unsaved' && effect === 'unknown' && (!stored || (stored === 'absent' && isRecord(over))))
    current.expect({ kind: 'perhaps_saved', over })
  // With `unread`, this is the first read that counts. If it does not show this sign-in, it is taken as the state before the write. So no
  // record now is taken as no record before, and the session continues.
  else if (stored && over === 'unread' && !(isRecord(stored) && stored.id === record.id))
    current.expect(expectedFromFirstRead(stored))
  else current.expect(ifNoEffect)
  // `stored` is applied after `expect`. A refresh during the first save can leave `perhaps_saved` over `unread` (`expectedWhileUnsaved` in
  // refresh.ts) for `confirmWrite`, and with that still expected, `reconcile` would end the session if no record is there.
  if (stored) sync.applyStored(stored)
}

/** Returns the record to expect after the first successful read that a sign-in gets, which shows what the sign-in writes over. */
function expectedFromFirstRead(stored: Stored): UnsavedRecord {
  return { kind: 'unsaved', over: isRecord(stored) ? stored : 'absent' }
}

/**
 * Writes over the record that it finds, unless that is `newer` or `foreign`. Returns what is left to confirm, or
 * undefined if nothing is.
 */
async function writeOver(parts: SessionParts, record: CurrentRecord): Promise<FailedSave | undefined> {
  const { store, current, problems, sync } = parts
  const found = await tryRead(store)
  if (!found) problems.report('read_failed')
  if (current.record !== record) return undefined
  if (found === 'unreadable') problems.report(found)
  if (found === 'newer' || found === 'foreign') {
    sync.applyStored(found)
    return undefined
  }
  if (isRecord(found)) current.markEnded(found.id)
  current.expect({ kind: 'first_save', write: 'sent' })
  if (await succeedsOrThrowsBug(() => writeCurrent(parts, record))) return undefined
  problems.report('write_failed')
  if (!found) return { ifNoEffect: unread, effect: 'unknown' }
  return isRecord(found) ? removeInstead(store, found) : { ifNoEffect: expectAbsent, effect: 'unknown' }
}

/**
 * Removes the record of an earlier sign-in that could not be written over. Otherwise the next start would load it. A removal works even
 * if the disk is full. If another record is there by now, it stays.
 */
async function removeInstead(store: SessionStore, found: SessionRecord): Promise<FailedSave> {
  const stored = await tryRead(store)
  if (!isSameRecord(stored, found)) return { ifNoEffect: { kind: 'unsaved', over: found }, effect: 'unknown' }
  // This read has shown that the write did not take effect (`none`). A removal that is reported as failed may still take effect, so a
  // record that is missing later is no sign-out. One that stays is written over, because its sign-in is marked as ended.
  await succeedsOrThrowsBug(() => store.remove())
  return { ifNoEffect: expectAbsent, effect: 'none' }
}

/** Returns whether a write of the current tokens is pending (`UnsavedRecord`). */
function isWriteLeft(expected: ExpectedRecord): expected is UnsavedRecord {
  return 'over' in expected
}
