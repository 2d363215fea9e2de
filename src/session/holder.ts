import type { AuthConfig } from '../config.ts'
import { succeeds } from '../deadline.ts'
import type { StorageProblem } from '../events.ts'
import type { MaybePromise } from '../storage/token-storage.ts'
import { type HeldTokens, holdTokens, identityOf } from './held-tokens.ts'
import { isRecord, type SessionRecord, type Stored } from './record.ts'
import { isPromise, type SessionStore } from './store.ts'

/** Why a session is over: the person signed out, the service refused, the record vanished, or nothing can renew it. */
export type SessionEndReason = 'signed_out' | 'refused' | 'store_lost' | 'expired'

export interface SessionState {
  readonly status: 'loading' | 'signed-in' | 'signed-out'
  readonly reason?: SessionEndReason
  /** Names this sign-in: another person's differs, a refresh keeps it. Random, and not a secret. */
  readonly sessionRef?: string
  /** When the access token ends, in epoch milliseconds of this machine's clock. */
  readonly expiresAtMs?: number
}

/** How long an asynchronous storage may be taken at its last word. */
const lookEveryMs = 1_000

const discardEveryMs = 5_000

/** What this realm knows of the session: the tokens it holds, the public state and who listens to it. */
export class SessionHolder {
  held: HeldTokens | undefined
  state: SessionState = { status: 'loading' }
  /** Whether the store shows what is held. */
  saved = true
  /** How many saves are under way. */
  saves = 0
  #expected = 'absent'
  /** Rises with every change here, so that a reading begun before one is dropped. */
  #epoch = 0
  #told = this.state
  #followed: Stored | undefined
  /** Problems that were told and have not gone away. */
  readonly #reported = new Set<StorageProblem>()
  #discardAtMs = Number.NEGATIVE_INFINITY
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined
  readonly #config: AuthConfig
  readonly #store: SessionStore
  readonly #listeners = new Set<() => void>()
  /** Sign-ins that ended here; their record may linger where it could not be removed. */
  readonly #over = new Set<string>()
  /** The sign-in each recent access token belongs to. */
  readonly #origins = new Map<string, string>()

  constructor(config: AuthConfig, store: SessionStore) {
    this.#config = config
    this.#store = store
  }

  /**
   * The identity the store should show: that of what is held, or what stood there when a write failed and is owed. `any`
   * while a new sign-in is being saved.
   */
  get expected(): string {
    return this.#expected
  }

  set expected(identity: string) {
    this.#expected = identity
    this.#epoch++
    this.saved = this.held !== undefined && identity === identityOf(this.held.record)
    if (this.saved) this.#forgive('write_failed', 'remove_failed')
  }

  /**
   * Reads the store when it is time, or anew in any case; rejects with `storage_failed` when nothing is held either. A
   * reading under way may be of before whatever calls for a new one.
   */
  look(when: 'due' | 'now' = 'due'): MaybePromise<void> {
    if (this.#looking !== undefined)
      return when === 'due' ? this.#looking : succeeds(this.#looking).then(() => this.look(when))
    if (when === 'due' && this.held && this.#config.clock.monotonicMs() - this.#lookedAtMs < lookEveryMs) return
    try {
      const stored = this.#store.read()
      if (!isPromise(stored)) return this.#follow(stored)
      this.#looking = this.#lookLater(stored)
      return this.#looking
    } catch (error) {
      this.#unreadable(error)
    }
  }

  async #lookLater(reading: Promise<Stored>): Promise<void> {
    try {
      const epoch = this.#epoch
      const stored = await reading
      if (epoch !== this.#epoch) return
      this.#follow(stored)
      this.#lookedAtMs = this.#config.clock.monotonicMs()
    } catch (error) {
      this.#unreadable(error)
    } finally {
      this.#looking = undefined
    }
  }

  #follow(stored: Stored): void {
    // The store gives the same object while nothing changed: the usual call stops here.
    if (isRecord(stored) && stored === this.#followed && this.saved) return
    this.#followed = stored
    this.adopt(stored)
    this.flush()
  }

  #unreadable(error: unknown): void {
    if (!this.held) throw error
    this.#followed = undefined
    this.#lookedAtMs = this.#config.clock.monotonicMs()
    this.report('read_failed')
  }

  /** Follows what the store holds: a newer record is taken over, a vanished one ends the session. */
  adopt(stored: Stored): void {
    if (stored === 'unreadable') this.#removeUnreadable()
    else if (stored === 'newer' || stored === 'foreign') this.#leaveAlone(stored)
    else this.#adoptUsable(stored)
    if (!this.held && this.state.status === 'loading') this.state = { status: 'signed-out' }
  }

  #adoptUsable(stored: SessionRecord | 'absent'): void {
    this.#forgive('read_failed', 'unreadable', 'newer', 'foreign')
    if (this.held && (this.#expected === 'any' || this.#expected === identityOf(stored))) return
    if (isRecord(stored)) this.#adoptRecord(stored)
    else if (this.held) this.end('store_lost')
  }

  #adoptRecord(record: SessionRecord): void {
    const current = this.held?.record
    const passed = this.isOver(record.id) || (current?.id === record.id && record.rev < current.rev)
    if (!passed) {
      this.hold(record, Number.POSITIVE_INFINITY)
      this.expected = identityOf(record)
    } else if (current) this.expected = identityOf(record)
    else this.#discard((stored) => isRecord(stored) && this.isOver(stored.id))
  }

  #leaveAlone(stored: 'newer' | 'foreign'): void {
    this.report(stored)
    if (this.held) this.expected = stored
  }

  #removeUnreadable(): void {
    this.report('unreadable')
    if (this.held) this.expected = 'absent'
    this.#discard((stored) => stored === 'unreadable')
  }

  /** Removes what should not be in the store, such as a write that landed after a sign-out, if it still stands there. */
  #discard(isStill: (stored: Stored) => boolean): void {
    const nowMs = this.#config.clock.monotonicMs()
    if (nowMs < this.#discardAtMs) return
    this.#discardAtMs = nowMs + discardEveryMs
    const remove = async (): Promise<void> => {
      if (isStill(await this.#store.read())) await this.#store.remove()
    }
    this.#store.locked(remove).catch(() => this.report('remove_failed'))
  }

  /** Takes up tokens that are as old as their stamp says, but at most `maxAgeMs`. */
  hold(record: SessionRecord, maxAgeMs: number): void {
    const { id, tokens } = record
    const { accessToken, expiresAtMs } = tokens
    const before = this.held?.record.id
    if (before && before !== id) this.#over.add(before)
    this.held = holdTokens(this.#config.clock, record, maxAgeMs)
    this.saved = false
    this.#epoch++
    this.#followed = undefined
    this.#origins.set(accessToken, id)
    for (const [oldest] of this.#origins) if (this.#origins.size > 16) this.#origins.delete(oldest)
    this.state = { status: 'signed-in', sessionRef: id, ...(expiresAtMs !== undefined && { expiresAtMs }) }
  }

  /** Ends what is held and never takes up its record, or the one named, again. */
  end(reason: SessionEndReason, id: string | undefined = this.held?.record.id): void {
    if (id) this.#over.add(id)
    const { held } = this
    this.held = undefined
    this.#epoch++
    if (this.state.status !== 'signed-out') this.state = { status: 'signed-out', reason }
    if (held) this.#config.emit(reason === 'expired' ? { type: 'login_required' } : { type: 'session_ended', reason })
  }

  /** Whether this sign-in ended here, by sign-out, refusal or another sign-in; its record must not come back. */
  isOver(id: string): boolean {
    return this.#over.has(id)
  }

  /** Whether this access token came from a sign-in that is no longer the current one. */
  isFromAnotherSession(accessToken: string): boolean {
    const id = this.held?.record.id
    return (this.#origins.get(accessToken) ?? id) !== id
  }

  /** Emits `storage_degraded`, once until the same goes well again. */
  report(reason: StorageProblem): void {
    if (this.#reported.has(reason)) return
    this.#reported.add(reason)
    this.#config.emit({ type: 'storage_degraded', reason })
  }

  #forgive(...reasons: StorageProblem[]): void {
    for (const reason of reasons) this.#reported.delete(reason)
  }

  /** Tells the listeners, once, what changed; never called while this realm holds the lock. */
  flush(): void {
    if (this.#told === this.state) return
    this.#told = this.state
    for (const listener of [...this.#listeners]) {
      try {
        listener()
      } catch {
        // One listener's failure is not the others', nor the session's.
      }
    }
  }

  subscribe(listener: () => void): () => void {
    // The same function may listen twice, and each of the two stops by itself.
    const own = (): void => listener()
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
    }
  }
}
