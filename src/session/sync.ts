import type { AuthConfig } from '../config.ts'
import { type AgentAuthError, isAgentAuthError } from '../errors.ts'
import { succeedsOrThrowsBug } from '../internal/timeouts.ts'
import type { MaybePromise } from '../storage/token-storage.ts'
import type { SessionMemory } from './memory.ts'
import { type Merged, merge } from './merge.ts'
import { isLeftAlone, isRecord, type SessionRecord, type Stored } from './record.ts'
import { isPromise, type SessionStore } from './store.ts'

/** How long an asynchronous storage is not read again while a session has tokens. */
const revalidateAfterMs = 1_000
/** How long a session waits before it repeats a pending write or removal. A token may be asked for many times a second. */
const settleAgainMs = 5_000

/** The parts of one session, which all of its procedures share. */
export interface SessionParts {
  readonly config: AuthConfig
  readonly store: SessionStore
  readonly memory: SessionMemory
  readonly sync: RecordSync
}

/** Keeps the session in memory and its record in the storage the same. */
export interface RecordSync {
  /**
   * Reads the storage and merges the record. It first waits for a sign-in and for the first removal of a sign-out here.
   * - `due` (the default) shares a read in progress. If the session has tokens, it also reads nothing for a while after an asynchronous
   *   read, or after one that failed.
   * - `now` always reads, after a read in progress has ended, because that one may have begun before the change.
   *
   * If the read fails and there are no tokens, it throws or rejects with the error of the storage.
   */
  revalidate(when?: 'due' | 'now'): MaybePromise<void>
  /** Reads and merges the record. Call it under the lock. Returns the error of a failed read, because the caller decides what it means. */
  read(): Promise<Stored | AgentAuthError>
  /** Writes the tokens in memory or those that are to be. Call it under the lock, after a read. Returns whether the write succeeded. */
  save(record: SessionRecord): Promise<boolean>
  /** Writes unsaved tokens, or removes a record that must not be used, in the background and at most once in a while. */
  settleSoon(): void
  /** Merges no record until the work has ended, and none whose read began before that. */
  holdUntil(work: Promise<unknown>): void
}

export function recordSync({ config, store, memory }: Omit<SessionParts, 'sync'>): RecordSync {
  let reading: Promise<void> | undefined
  let held: Promise<void> | undefined
  /** The time of the last read that needs no repetition. Set by asynchronous and failed reads only. */
  let readAtMs: number | undefined
  let nextSettleMs = 0
  const nowMs = (): number => config.clock.monotonicMs()

  function revalidate(when: 'due' | 'now' = 'due'): MaybePromise<void> {
    if (held !== undefined) return held.then(() => revalidate(when))
    if (reading !== undefined)
      return when === 'due' ? reading : succeedsOrThrowsBug(() => reading).then(() => revalidate(when))
    if (when === 'due' && memory.record && readAtMs !== undefined && nowMs() - readAtMs < revalidateAfterMs) return
    try {
      const stored = store.read()
      if (!isPromise(stored)) return mergeAndShow(stored)
      reading = mergeLater(stored, nowMs()).finally(() => {
        reading = undefined
      })
      return reading
    } catch (error) {
      goOnWithoutRead(error)
    }
  }

  /** Merges the record, unless the session changed meanwhile. The machine may sleep during the read, so its beginning counts. */
  async function mergeLater(read: Promise<Stored>, begunMs: number): Promise<void> {
    const begun = memory.version
    try {
      const stored = await read
      if (begun !== memory.version) return held
      mergeAndShow(stored)
      readAtMs = begunMs
    } catch (error) {
      goOnWithoutRead(error)
    }
  }

  function mergeAndShow(stored: Stored): void {
    const merged = mergeRecord(stored)
    memory.notify()
    if (merged === 'remove') settleSoon()
  }

  /** Continues with the tokens in memory after a failed read. Throws the error of the read if there are none. */
  function goOnWithoutRead(error: unknown): void {
    if (!memory.record || !isAgentAuthError(error)) throw error
    readAtMs = nowMs()
    store.report('read_failed')
  }

  function mergeRecord(stored: Stored): Merged {
    store.clear('read_failed')
    if (stored === 'absent' || isRecord(stored)) store.clear('unreadable', 'newer', 'foreign')
    else store.report(stored)
    const merged = merge(stored, memory)
    if (merged === 'take') memory.become(stored as SessionRecord)
    else if (merged === 'end') memory.end('store_lost')
    else if (memory.record) memory.setUnsaved(merged === 'unsaved')
    if (memory.record && !memory.unsaved) store.clear('write_failed', 'remove_failed')
    memory.finishLoading()
    return merged
  }

  async function read(): Promise<Stored | AgentAuthError> {
    const begun = memory.version
    try {
      const stored = await store.read()
      // The session changed during the read, perhaps by a read that began before the lock was acquired.
      if (begun !== memory.version) return await read()
      if (!held) mergeRecord(stored)
      return stored
    } catch (error) {
      if (!isAgentAuthError(error)) throw error
      store.report('read_failed')
      return error
    }
  }

  async function save(record: SessionRecord): Promise<boolean> {
    if (!(await succeedsOrThrowsBug(() => store.write(record)))) return false
    if (memory.record === record) memory.setUnsaved(false)
    store.clear('write_failed', 'remove_failed')
    return true
  }

  function settleSoon(): void {
    if (nowMs() < nextSettleMs) return
    nextSettleMs = nowMs() + settleAgainMs
    // Only an error of the program arrives at this `catch`, and no caller waits for it.
    settle().catch(() => store.report('write_failed'))
  }

  /** Writes unsaved tokens, or removes a record that must not be used. */
  async function settle(): Promise<void> {
    const isDone = await succeedsOrThrowsBug(() =>
      store.locked(async () => {
        const begun = memory.version
        const stored = await store.read()
        if (held || begun !== memory.version) return
        const merged = mergeRecord(stored)
        if (merged === 'remove') await store.remove()
        const { record } = memory
        if (merged === 'unsaved' && record && !isLeftAlone(stored) && !(await save(record))) throw store.failure
      }),
    )
    if (!isDone) store.report(memory.record ? 'write_failed' : 'remove_failed')
    memory.notify()
  }

  function holdUntil(work: Promise<unknown>): void {
    memory.discardReads()
    const end = Promise.allSettled([held, work]).then(() => {
      if (held === end) held = undefined
      memory.discardReads()
    })
    held = end
  }

  return { revalidate, read, save, settleSoon, holdUntil }
}
