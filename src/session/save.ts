import { attempted } from '../internal/timeouts.ts'
import { type HeldTokens, identityOf } from './held-tokens.ts'
import { isRecord, type Stored } from './record.ts'
import type { SessionHolder } from './state.ts'
import type { SessionStore } from './store.ts'

const saveAgainMs = 5_000

/** A newer version's record and somebody else's are neither written over nor removed. */
export function isLeftAlone(identity: Stored | string): identity is 'newer' | 'foreign' {
  return identity === 'newer' || identity === 'foreign'
}

/** Writes what is held, unless the store shows something new to follow. A failure is reported and the write owed. */
export async function saveHeld(holder: SessionHolder): Promise<void> {
  const { held, store } = holder
  if (!held) return
  const save = async (): Promise<void> => {
    if (holder.expected === 'any') return replace(holder, held)
    holder.adopt(await store.read())
    if (holder.held !== held || holder.saved || isLeftAlone(holder.expected)) return
    await store.write(held.record)
    if (holder.held === held) holder.expect(identityOf(held.record))
  }
  holder.saves++
  try {
    if (!(await attempted(() => store.locked(save)))) holder.report('write_failed')
  } finally {
    holder.saves--
  }
  await confirmUnsaved(holder)
}

/**
 * Looks whether a write that was reported as failed took place all the same, once the lock is free and no such write can
 * follow. A session that another realm may have seen must not outlast a sign-out there.
 */
export async function confirmUnsaved(holder: SessionHolder): Promise<void> {
  if (holder.held && !holder.saved) await attempted(() => holder.look('now'))
}

/**
 * A new sign-in replaces what stands there, even a record that no key opens any more. Until the write has ended nothing
 * the store shows is followed.
 */
async function replace(holder: SessionHolder, held: HeldTokens): Promise<void> {
  const { store } = holder
  const stood = await readOr(store, undefined)
  if (!stood) holder.report('read_failed')
  if (holder.held !== held) return
  if (stood === 'unreadable') holder.report(stood)
  if (stood && isLeftAlone(stood)) return holder.adopt(stood)
  if (stood && isRecord(stood)) holder.markOver(stood.id)
  const written = await attempted(() => store.write(held.record))
  const removed = !written && (await removeReplaced(store, stood))
  const expected = written ? held.record : removed ? 'absent' : stood
  if (holder.held === held && expected) holder.expect(identityOf(expected))
  if (!written) holder.report('write_failed')
}

/**
 * Removes the record of an earlier sign-in that could not be written over, because the next start would show it; a full disk
 * still allows that. Returns whether it did: another record that stands there by now is left.
 */
async function removeReplaced(store: SessionStore, replaced: Stored | undefined): Promise<boolean> {
  if (!replaced || !isRecord(replaced)) return false
  let isRemoved = false
  await attempted(async () => {
    if (identityOf(await store.read()) !== identityOf(replaced)) return
    await store.remove()
    isRemoved = true
  })
  return isRemoved
}

/** Repeats an owed write at most every five seconds, whenever a token is asked for. */
export function owedSaving(holder: SessionHolder): () => void {
  // Not a number: never yet, so that no comparison holds.
  let nextMs = Number.NaN
  return () => {
    const { held, expected, saved, saves } = holder
    if (!held || saved || (expected === 'any' && saves > 0) || isLeftAlone(expected)) return
    const nowMs = holder.config.clock.monotonicMs()
    if (nowMs < nextMs) return
    nextMs = nowMs + saveAgainMs
    saveHeld(holder).catch(() => holder.report('write_failed'))
  }
}

/** What the store shows, or the given value where it cannot be read. */
export async function readOr<T extends Stored | undefined>(store: SessionStore, otherwise: T): Promise<Stored | T> {
  try {
    return await store.read()
  } catch {
    return otherwise
  }
}
