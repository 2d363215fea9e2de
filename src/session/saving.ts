import type { AuthConfig } from '../config.ts'
import { succeeds } from '../deadline.ts'
import { type HeldTokens, identityOf } from './held-tokens.ts'
import type { SessionHolder } from './holder.ts'
import type { Stored } from './record.ts'
import type { SessionStore } from './store.ts'

const saveAgainMs = 5_000

/** A newer version's record and somebody else's are neither written over nor removed. */
export function isLeftAlone(identity: Stored | string): boolean {
  return identity === 'newer' || identity === 'foreign'
}

/** Writes what is held, unless the store shows something new to follow. A failure is reported and the write owed. */
export async function saveHeld(store: SessionStore, holder: SessionHolder): Promise<void> {
  const { held } = holder
  if (!held) return
  holder.saves++
  const saved = await succeeds(
    store.locked(async () => {
      if (holder.held !== held) return
      if (holder.expected === 'any') await replace(store, holder, held)
      else await saveUnlessChanged(store, holder, held)
    }),
  )
  holder.saves--
  if (!saved) holder.report('write_failed')
}

async function saveUnlessChanged(store: SessionStore, holder: SessionHolder, held: HeldTokens): Promise<void> {
  holder.adopt(await store.read())
  if (holder.held !== held || holder.saved || isLeftAlone(holder.expected)) return
  await store.write(held.record)
  if (holder.held === held) holder.expected = identityOf(held.record)
}

/**
 * A new sign-in replaces what stands there, even a record that no key opens any more. Until the write has ended nothing
 * the store shows is followed.
 */
async function replace(store: SessionStore, holder: SessionHolder, held: HeldTokens): Promise<void> {
  const stood = await readOrReport(store, holder)
  if (holder.held !== held) return
  if (stood === 'unreadable') holder.report(stood)
  if (stood === 'newer' || stood === 'foreign') return holder.adopt(stood)
  const written = await succeeds(store.write(held.record))
  const expected = written ? held.record : stood
  if (holder.held === held && expected) holder.expected = identityOf(expected)
  if (!written) holder.report('write_failed')
}

async function readOrReport(store: SessionStore, holder: SessionHolder): Promise<Stored | undefined> {
  try {
    return await store.read()
  } catch {
    holder.report('read_failed')
    return undefined
  }
}

/** Repeats an owed write at most every five seconds, whenever a token is asked for. */
export function owedSaving({ clock }: AuthConfig, store: SessionStore, holder: SessionHolder): () => void {
  let nextMs = Number.NEGATIVE_INFINITY
  return () => {
    const { held, expected, saved, saves } = holder
    if (!held || saved || (expected === 'any' && saves > 0) || isLeftAlone(expected) || clock.monotonicMs() < nextMs)
      return
    nextMs = clock.monotonicMs() + saveAgainMs
    saveHeld(store, holder).catch(() => holder.report('write_failed'))
  }
}

/** What cannot be read can still be removed. */
export async function readOrUnreadable(store: SessionStore): Promise<Stored> {
  try {
    return await store.read()
  } catch {
    return 'unreadable'
  }
}
