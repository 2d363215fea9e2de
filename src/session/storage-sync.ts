import { isAgentAuthError } from '../errors.ts'
import { revalidateAfterMs } from '../internal/limits.ts'
import { succeedsOrThrowsBug } from '../internal/timeouts.ts'
import type { MaybePromise } from '../storage/token-storage.ts'
import { type RecordApplier, recordApplier, type SyncedParts } from './apply-stored.ts'
import type { Stored } from './record.ts'
import { isPromise } from './store.ts'

/** Keeps the current session in sync with the storage. */
export interface StorageSync extends Pick<RecordApplier, 'applyStored' | 'ignoreUntil'> {
  /**
   * Reads the storage and applies the record. `due` (the default) shares a read in progress. If the session has tokens, it also reads
   * nothing for a while (`revalidateAfterMs`, 1 s) after the beginning of an asynchronous read during which the session did not change, or
   * after a read failed. `now` always reads, after a read in progress has ended, because that one may have begun before the change. If the
   * read fails and there are no tokens, it throws or rejects with the error of the storage.
   */
  revalidate(when?: 'due' | 'now'): MaybePromise<void>
}

export function storageSync(parts: SyncedParts): StorageSync {
  const { config, store, current, problems } = parts
  const applier = recordApplier(parts)
  /** The record applied last, and the version after that. */
  let applied: { readonly stored: Stored; readonly version: number } | undefined
  let reading: Promise<void> | undefined
  /** Set by asynchronous and failed reads only. */
  let readAtMs: number | undefined
  const nowMs = (): number => config.clock.monotonicMs()

  function revalidate(when: 'due' | 'now' = 'due'): MaybePromise<void> {
    if (reading !== undefined) {
      const before = reading
      return when === 'due' ? before : succeedsOrThrowsBug(() => before).then(() => revalidate(when))
    }
    if (when === 'due' && current.record && readAtMs !== undefined && nowMs() - readAtMs < revalidateAfterMs) return
    try {
      const stored = store.read()
      if (!isPromise(stored)) return applyAndNotify(stored)
      reading = applyLater(stored, nowMs())
      return reading
    } catch (error) {
      goOnWithoutRead(error)
    }
  }

  /** Applies the record, unless the session changed meanwhile. `readAtMs` is the beginning of the read: the machine may sleep during it. */
  async function applyLater(read: Promise<Stored>, begunMs: number): Promise<void> {
    const begun = current.version
    try {
      const stored = await read
      if (begun !== current.version) return
      applyAndNotify(stored)
      readAtMs = begunMs
    } catch (error) {
      goOnWithoutRead(error)
    } finally {
      reading = undefined
    }
  }

  function applyAndNotify(stored: Stored): void {
    // The store returns the same object for the same text. Without tokens, or with unsaved ones, it is applied again: it may be unwanted.
    const isKnown = applied?.stored === stored && applied.version === current.version
    if (isKnown && current.record && current.expected.kind === 'saved') return
    applier.applyStored(stored)
    applied = { stored, version: current.version }
    current.notify()
  }

  /** Continues with the tokens in memory after a failed read. Throws the error of the read if there are none. */
  function goOnWithoutRead(error: unknown): void {
    if (!current.record || !isAgentAuthError(error)) throw error
    applied = undefined // The next read that succeeds is applied, because it clears the problem.
    readAtMs = nowMs()
    problems.report('read_failed')
  }

  return { revalidate, applyStored: applier.applyStored, ignoreUntil: applier.ignoreUntil }
}
