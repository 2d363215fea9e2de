import type { AuthConfig } from '../config.ts'
import type { AgentAuthError } from '../errors.ts'
import type { Clock } from '../internal/clock.ts'
import { revalidateAfterMs } from '../internal/limits.ts'
import type { SessionMemory } from './memory.ts'
import { isLeftAlone, isRecord, type Merged, merge, type SessionRecord, type Stored } from './record.ts'
import { isPromise, type SessionStore } from './store.ts'

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
   * A synchronous storage is read at once, and nothing is returned. If the read fails and there are no tokens, it throws or rejects with
   * the error of the storage.
   */
  revalidate(when?: 'due' | 'now'): Promise<void> | undefined
  /**
   * Reads and merges the record, then writes the tokens that the storage lacks, or removes the record of a sign-in that ended here. Call it
   * under the lock. Returns the error of a failed read, because the caller decides what it means. A write that fails is repeated later.
   */
  settle(): Promise<Stored | AgentAuthError>
  /** Settles in the background, at most once in a while. */
  settleSoon(): void
  /** Resolves when no sign-in and no first removal of a sign-out is in progress here. */
  released(): Promise<void> | undefined
  /** Merges no record until the work has ended, and none whose read began before that. */
  holdUntil(work: Promise<unknown>): void
}

export function recordSync(clock: Clock, store: SessionStore, memory: SessionMemory): RecordSync {
  let held: Promise<void> | undefined
  let reading: Promise<void> | undefined
  /** The time of the last read that needs no repetition. Set by asynchronous and failed reads only. */
  let readAtMs = -Infinity
  let settledAtMs = -Infinity

  function revalidate(when: 'due' | 'now' = 'due'): Promise<void> | undefined {
    if (held !== undefined) return held.then(() => revalidate(when))
    if (reading !== undefined) return when === 'due' ? reading : reading.catch(() => {}).then(() => revalidate(when))
    const { version } = memory
    // The machine may sleep during the read, so its beginning counts.
    const begunMs = clock.monotonicMs()
    if (when === 'due' && memory.record && begunMs - readAtMs < revalidateAfterMs) return
    try {
      const found = store.read()
      if (!isPromise(found)) return void take(found)
      reading = found
        .then((stored) => {
          // The session changed meanwhile.
          if (version !== memory.version) return held
          take(stored)
          readAtMs = begunMs
        })
        .catch(readFailed)
        .finally(() => {
          reading = undefined
        })
      return reading
    } catch (error) {
      readFailed(error)
    }
  }

  function take(stored: Stored): void {
    const { state } = memory
    const merged = mergeRecord(stored)
    // Not within the call of the app, which may be in the middle of rendering.
    if (memory.state !== state) queueMicrotask(() => memory.notify())
    if (merged === 'remove') settleSoon()
  }

  function readFailed(error: unknown): void {
    if (!memory.record) throw error
    readAtMs = clock.monotonicMs()
    store.report('read_failed', error)
  }

  function mergeRecord(stored: Stored): Merged {
    const merged = merge(stored, memory)
    if (merged === 'take') memory.become(stored as SessionRecord)
    else if (merged === 'end') memory.end('store_lost')
    else memory.unsaved = merged === 'unsaved'
    if (memory.state.status === 'loading') memory.state = { status: 'signed-out' }
    if (stored !== 'absent' && !isRecord(stored)) store.report(stored)
    else if (merged !== 'unsaved' && merged !== 'remove') store.clear()
    return merged
  }

  async function settle(): Promise<Stored | AgentAuthError> {
    const { version } = memory
    let stored: Stored
    try {
      stored = await store.read()
    } catch (error) {
      store.report('read_failed', error)
      return error as AgentAuthError
    }
    if (held !== undefined) return stored
    // The session changed during the read, perhaps by a read that began before the lock was acquired.
    if (version !== memory.version) return settle()
    const merged = mergeRecord(stored)
    const { record } = memory
    try {
      if (merged === 'remove') await store.remove()
      else if (merged === 'unsaved' && record && !isLeftAlone(stored)) {
        await store.write(record)
        if (memory.record === record) memory.unsaved = false
      } else return stored
      store.clear()
    } catch (error) {
      reportUnsettled(error)
    }
    return stored
  }

  function settleSoon(): void {
    const nowMs = clock.monotonicMs()
    if (nowMs - settledAtMs < settleAgainMs) return
    settledAtMs = nowMs
    void store
      .locked(settle)
      .catch(reportUnsettled)
      .then(() => memory.notify())
  }

  function reportUnsettled(error: unknown): void {
    store.report(memory.record ? 'write_failed' : 'remove_failed', error)
  }

  function holdUntil(work: Promise<unknown>): void {
    const end = Promise.allSettled([held, work]).then(() => {
      if (held === end) held = undefined
      memory.version++
    })
    held = end
    memory.version++
  }

  return { revalidate, settle, settleSoon, released: () => held, holdUntil }
}
