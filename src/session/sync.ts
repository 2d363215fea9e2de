import type { AuthConfig } from '../config.ts'
import { type AgentAuthError, isAgentAuthError } from '../errors.ts'
import type { Clock } from '../internal/clock.ts'
import { succeedsOrThrowsBug } from '../internal/timeouts.ts'
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
  private reading: Promise<void> | undefined
  private held: Promise<void> | undefined
  /** The time of the last read that needs no repetition. Set by asynchronous and failed reads only. */
  private readAtMs = Number.NEGATIVE_INFINITY
  private nextSettleMs = 0

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
    if (when === 'due' && this.memory.record && this.clock.monotonicMs() - this.readAtMs < revalidateAfterMs) return
    try {
      const stored = this.store.read()
      if (!isPromise(stored)) return this.mergeAndShow(stored)
      this.reading = this.mergeLater(stored, this.clock.monotonicMs())
      return this.reading
    } catch (error) {
      this.goOnWithoutRead(error)
    }
  }

  /** Merges the record, unless the session changed meanwhile. The machine may sleep during the read, so its beginning counts. */
  private async mergeLater(read: Promise<Stored>, begunMs: number): Promise<void> {
    const begun = this.memory.version
    try {
      const stored = await read
      if (begun !== this.memory.version) return this.held
      this.mergeAndShow(stored)
      this.readAtMs = begunMs
    } catch (error) {
      this.goOnWithoutRead(error)
    } finally {
      this.reading = undefined
    }
  }

  private mergeAndShow(stored: Stored): void {
    const merged = this.mergeRecord(stored)
    this.memory.notify()
    if (merged === 'remove') this.settleSoon()
  }

  /** Continues with the tokens in memory after a failed read. Throws the error of the read if there are none. */
  private goOnWithoutRead(error: unknown): void {
    if (!this.memory.record || !isAgentAuthError(error)) throw error
    this.readAtMs = this.clock.monotonicMs()
    this.store.report('read_failed')
  }

  private mergeRecord(stored: Stored): Merged {
    this.store.clear('read_failed')
    if (stored === 'absent' || isRecord(stored)) this.store.clear('unreadable', 'newer', 'foreign')
    else this.store.report(stored)
    const merged = merge(stored, this.memory)
    if (merged === 'take') this.memory.become(stored as SessionRecord)
    else if (merged === 'end') this.memory.end('store_lost')
    else if (this.memory.record) this.memory.setUnsaved(merged === 'unsaved')
    if (this.memory.record && !this.memory.unsaved) this.store.clear('write_failed', 'remove_failed')
    if (this.memory.state.status === 'loading') this.memory.state = { status: 'signed-out' }
    return merged
  }

  /** Reads and merges the record. Call it under the lock. Returns the error of a failed read, because the caller decides what it means. */
  async read(): Promise<Stored | AgentAuthError> {
    const begun = this.memory.version
    try {
      const stored = await this.store.read()
      // The session changed during the read, perhaps by a read that began before the lock was acquired.
      if (begun !== this.memory.version) return await this.read()
      if (!this.held) this.mergeRecord(stored)
      return stored
    } catch (error) {
      if (!isAgentAuthError(error)) throw error
      this.store.report('read_failed')
      return error
    }
  }

  /** Writes tokens. Call it under the lock, after a read. Returns whether the write succeeded. */
  async save(record: SessionRecord): Promise<boolean> {
    if (!(await succeedsOrThrowsBug(() => this.store.write(record)))) return false
    if (this.memory.record === record) this.memory.setUnsaved(false)
    this.store.clear('write_failed', 'remove_failed')
    return true
  }

  /** Writes unsaved tokens, or removes a record that must not be used, in the background and at most once in a while. */
  settleSoon(): void {
    if (this.clock.monotonicMs() < this.nextSettleMs) return
    this.nextSettleMs = this.clock.monotonicMs() + settleAgainMs
    // Only an error of the program arrives at this `catch`, and no caller waits for it.
    this.settle().catch(() => this.store.report('write_failed'))
  }

  private async settle(): Promise<void> {
    const isDone = await succeedsOrThrowsBug(() =>
      this.store.locked(async () => {
        const begun = this.memory.version
        const stored = await this.store.read()
        if (this.held || begun !== this.memory.version) return
        const merged = this.mergeRecord(stored)
        if (merged === 'remove') await this.store.remove()
        const { record } = this.memory
        if (merged === 'unsaved' && record && !isLeftAlone(stored) && !(await this.save(record)))
          throw this.store.failure
      }),
    )
    if (!isDone) this.store.report(this.memory.record ? 'write_failed' : 'remove_failed')
    this.memory.notify()
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
