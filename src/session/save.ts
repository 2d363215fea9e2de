import { attempted } from '../internal/timeouts.ts'
import { type ExpectedRecord, expectAbsent, expectSaved, isSameRecord } from './expected.ts'
import type { HeldTokens } from './held-tokens.ts'
import { isRecord, type SessionRecord, type Stored } from './record.ts'
import type { SessionHolder } from './state.ts'
import type { SessionStore } from './store.ts'

const saveAgainMs = 5_000

const unread: ExpectedRecord = { kind: 'unknown', over: 'unread', absence: 'unsaved' }

/** What an attempt to save has left behind. */
interface Attempt {
  /** The record to expect, unless `wrote` says that it may be ours by now. */
  readonly expected: ExpectedRecord
  /** Whether a write was sent that may have taken effect. */
  readonly wrote: boolean
}

/**
 * Saves a new sign-in, which replaces the record that stands there, even one that no key opens. Nothing that the store shows
 * is followed until this has ended.
 */
export async function saveSignIn(holder: SessionHolder): Promise<void> {
  const { held, store } = holder
  if (!held) return
  let attempt: Attempt | undefined = { expected: unread, wrote: false }
  const isDone = await attempted(() =>
    store.locked(async () => {
      attempt = await replace(holder, held)
    }),
  )
  if (!isDone) holder.report('write_failed')
  if (attempt && holder.held === held) await confirm(holder, held, attempt)
}

/** Saves the held tokens, unless the store shows a change to follow. A failure is reported and the write stays pending. */
async function saveAgain(holder: SessionHolder): Promise<void> {
  const { held, store } = holder
  if (!held) return
  let wrote = false
  const isDone = await attempted(() =>
    store.locked(async () => {
      holder.adopt(await store.read())
      if (holder.held !== held || !isPending(holder.expected)) return
      wrote = true
      await store.write(held.record)
      if (holder.held === held) holder.expect(expectSaved)
    }),
  )
  if (!isDone) holder.report('write_failed')
  if (wrote && !isDone) await confirmWrite(holder)
  holder.flush()
}

/** Repeats a pending write at most every five seconds, whenever a token is asked for. */
export function owedSaving(holder: SessionHolder): () => void {
  // NaN means "never", because every comparison with NaN is false.
  let nextMs = Number.NaN
  return () => {
    if (!holder.held || !isPending(holder.expected)) return
    const nowMs = holder.config.clock.monotonicMs()
    if (nowMs < nextMs) return
    nextMs = nowMs + saveAgainMs
    saveAgain(holder).catch(() => holder.report('write_failed'))
  }
}

/** Reads whether a write of the held tokens that failed took effect, once the lock is free and no such write can follow. */
export async function confirmWrite(holder: SessionHolder): Promise<void> {
  const { held, expected } = holder
  if (held && isPending(expected)) await confirm(holder, held, { expected, wrote: true })
  holder.flush()
}

async function confirm(holder: SessionHolder, held: HeldTokens, { expected, wrote }: Attempt): Promise<void> {
  const stored = await readOr(holder.store, undefined)
  if (holder.held !== held || !(isPending(holder.expected) || holder.expected.kind === 'replacing')) return
  if (stored === undefined) {
    holder.report('read_failed')
    holder.expect(wrote ? perhapsWritten(expected) : expected)
  } else {
    holder.expect(expected.kind === 'unknown' && expected.over === 'unread' ? unsavedOver(stored) : expected)
    holder.adopt(stored)
  }
}

/** A session that another realm may have seen must not outlast a sign-out there. */
function perhapsWritten(expected: ExpectedRecord): ExpectedRecord {
  return 'over' in expected ? { kind: 'unknown', over: expected.over, absence: 'removed' } : expected
}

/** The first record that is read after a sign-in is the one that the sign-in replaces. */
function unsavedOver(stored: Stored): ExpectedRecord {
  return isRecord(stored) ? { kind: 'unsaved', over: stored } : expectAbsent
}

/** Writes over the record that stands there. Returns what is left to confirm, or nothing if the session is settled. */
async function replace(holder: SessionHolder, held: HeldTokens): Promise<Attempt | undefined> {
  const { store } = holder
  const stood = await readOr(store, undefined)
  if (!stood) holder.report('read_failed')
  if (holder.held !== held) return undefined
  if (stood === 'unreadable') holder.report(stood)
  if (stood === 'newer' || stood === 'foreign') {
    holder.adopt(stood)
    return undefined
  }
  if (stood && isRecord(stood)) holder.markOver(stood.id)
  if (await attempted(() => store.write(held.record))) {
    if (holder.held === held) holder.expect(expectSaved)
    return undefined
  }
  holder.report('write_failed')
  if (!stood) return { expected: unread, wrote: true }
  return isRecord(stood) ? removeReplaced(store, stood) : { expected: expectAbsent, wrote: true }
}

/**
 * Removes the record of an earlier sign-in that could not be written over, because the next start would load it. A full disk
 * still allows that. If another record stands there by now, it is kept.
 */
async function removeReplaced(store: SessionStore, replaced: SessionRecord): Promise<Attempt> {
  let attempt: Attempt = { expected: { kind: 'unsaved', over: replaced }, wrote: true }
  await attempted(async () => {
    if (!isSameRecord(await store.read(), replaced)) return
    // This read has shown that the write did not take effect. The removal may, even if it is reported as failed.
    attempt = { expected: { kind: 'unknown', over: replaced, absence: 'unsaved' }, wrote: false }
    await store.remove()
    attempt = { expected: expectAbsent, wrote: false }
  })
  return attempt
}

function isPending({ kind }: ExpectedRecord): boolean {
  return kind === 'unsaved' || kind === 'unknown'
}

/** What the store shows, or the given value where it cannot be read. */
export async function readOr<T extends Stored | undefined>(store: SessionStore, otherwise: T): Promise<Stored | T> {
  try {
    return await store.read()
  } catch {
    return otherwise
  }
}
