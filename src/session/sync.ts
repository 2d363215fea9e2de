import type { AuthConfig } from '../config.ts'
import type { AgentAuthError } from '../errors.ts'
import type { Clock } from '../internal/clock.ts'
import type { MaybePromise } from '../storage/token-storage.ts'
import type { SessionMemory } from './memory.ts'
import { isLeftAlone, isRecord, type Merged, merge, type SessionRecord, type Stored } from './record.ts'
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

/** Keeps the session in memory and its record in the storage the same. A class, because a backend has thousands. */
export class RecordSync {
  /** The sign-in and the first removals of sign-outs that are in progress here. */
  held: Promise<void> | undefined
  private reading: Promise<void> | undefined
  /** The time of the last read that needs no repetition. Set by asynchronous and failed reads only. */
  private readAtMs = Number.NEGATIVE_INFINITY
  private settledAtMs = Number.NEGATIVE_INFINITY

  constructor(
    private readonly clock: Clock,
    private readonly store: SessionStore,
    private readonly memory: SessionMemory,
  ) {}

  /**
   * Reads the storage and merges the record. It first waits for a sign-in and for the first removal of a sign-out here.
   * - `due` (the default) shares a read in progress. If the session has tokens, it also reads nothing for a while after an asynchronous
   *   read, or after one that failed.
   * - `now` always reads, after a read in progress has ended, because that one may have begun before the change.
   *
   * If the read fails and there are no tokens, it throws or rejects with the error of the storage.
   */
  revalidate(when: 'due' | 'now' = 'due'): MaybePromise<void> {
    if (this.held !== undefined) return this.held.then(() => this.revalidate(when))
    if (this.reading !== undefined)
      return when === 'due' ? this.reading : this.reading.catch(() => {}).then(() => this.revalidate(when))
    const nowMs = this.clock.monotonicMs()
    if (when === 'due' && this.memory.record && nowMs - this.readAtMs < revalidateAfterMs) return
    try {
      const stored = this.store.read()
      if (!isPromise(stored)) return this.show(stored)
      this.reading = this.mergeLater(stored, nowMs)
      return this.reading
    } catch (error) {
      this.goOnWithoutRead(error)
    }
  }

  /** Merges the record, unless the session changed meanwhile. The machine may sleep during the read, so its beginning counts. */
  private async mergeLater(read: Promise<Stored>, begunMs: number): Promise<void> {
    const { version } = this.memory
    try {
      const stored = await read
      if (version !== this.memory.version) return this.held
      this.show(stored)
      this.readAtMs = begunMs
    } catch (error) {
      this.goOnWithoutRead(error)
    } finally {
      this.reading = undefined
    }
  }

  private show(stored: Stored): void {
    const merged = this.merge(stored)
    this.memory.notify()
    if (merged === 'remove') this.settleSoon()
  }

  /** Continues with the tokens in memory after a failed read. Throws the error of the read if there are none. */
  private goOnWithoutRead(error: unknown): void {
    if (!this.memory.record) throw error
    this.readAtMs = this.clock.monotonicMs()
    this.store.report('read_failed', error)
  }

  private merge(stored: Stored): Merged {
    const { memory, store } = this
    const merged = merge(stored, memory)
    if (merged === 'take') memory.become(stored as SessionRecord)
    else if (merged === 'end') memory.end('store_lost')
    else memory.unsaved = merged === 'unsaved'
    if (memory.state.status === 'loading') memory.state = { status: 'signed-out' }
    if (stored !== 'absent' && !isRecord(stored)) store.report(stored)
    else if (merged !== 'unsaved' && merged !== 'remove') store.clear()
    return merged
  }

  /**
   * Reads and merges the record, then writes the tokens that the storage lacks, or removes the record of a sign-in that ended here. Call it
   * under the lock. Returns the error of a failed read, because the caller decides what it means. A write that fails is repeated later.
   */
  async settle(): Promise<Stored | AgentAuthError> {
    const { memory, store } = this
    const { version } = memory
    let stored: Stored
    try {
      stored = await store.read()
    } catch (error) {
      store.report('read_failed', error)
      return error as AgentAuthError
    }
    if (this.held !== undefined) return stored
    // The session changed during the read, perhaps by a read that began before the lock was acquired.
    if (version !== memory.version) return this.settle()
    const merged = this.merge(stored)
    const { record } = memory
    try {
      if (merged === 'remove') await store.remove()
      else if (merged === 'unsaved' && record && !isLeftAlone(stored)) {
        await store.write(record)
        if (memory.record === record) memory.unsaved = false
      } else return stored
      store.clear()
    } catch (error) {
      this.reportUnsettled(error)
    }
    return stored
  }

  /** Settles in the background, at most once in a while. */
  settleSoon(): void {
    const nowMs = this.clock.monotonicMs()
    if (nowMs - this.settledAtMs < settleAgainMs) return
    this.settledAtMs = nowMs
    const work = this.store.locked(() => this.settle()).catch((error) => this.reportUnsettled(error))
    void work.then(() => this.memory.notify())
  }

  private reportUnsettled(error: unknown): void {
    this.store.report(this.memory.record ? 'write_failed' : 'remove_failed', error)
  }

  /** Merges no record until the work has ended, and none whose read began before that. */
  holdUntil(work: Promise<unknown>): void {
    const end = Promise.allSettled([this.held, work]).then(() => {
      if (this.held === end) this.held = undefined
      this.memory.version++
    })
    this.held = end
    this.memory.version++
  }
}
