import type { AuthConfig } from '../config.ts'
import { succeeds } from '../deadline.ts'
import { identityOf } from './held-tokens.ts'
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
  const saved = await succeeds(
    store.locked(async () => {
      if (holder.expected === 'any') await expectWhatStands(store, holder)
      else holder.adopt(await store.read())
      if (holder.held !== held || !held || isLeftAlone(holder.expected)) return
      await store.write(held.record)
      if (holder.held === held) holder.expected = identityOf(held.record)
    }),
  )
  if (!saved) holder.report('write_failed')
}

/** A new sign-in replaces what stands there, even a record that no key opens any more. */
async function expectWhatStands(store: SessionStore, holder: SessionHolder): Promise<void> {
  try {
    const stored = await store.read()
    if (holder.expected !== 'any') return
    holder.expected = identityOf(stored)
    holder.adopt(stored)
  } catch {
    holder.report('read_failed')
  }
}

/** Repeats an owed write at most every five seconds, whenever a token is asked for. */
export function owedSaving({ clock }: AuthConfig, store: SessionStore, holder: SessionHolder): () => void {
  let nextMs = Number.NEGATIVE_INFINITY
  return () => {
    const { held, expected, saved } = holder
    if (!held || saved || isLeftAlone(expected) || clock.monotonicMs() < nextMs) return
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
