import type { AuthConfig } from '../config.ts'
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
  /** When the access token ends, in epoch milliseconds of this machine's clock. */
  readonly expiresAtMs?: number
}

/** How long an asynchronous storage may be taken at its last word. */
const lookEveryMs = 1_000

/** What this realm knows of the session: the tokens it holds, the public state and who listens to it. */
export interface SessionHolder {
  readonly held: HeldTokens | undefined
  /**
   * The identity the store should show: that of what is held, or what stood there when a write failed and is owed. `any`
   * while a new sign-in is being saved.
   */
  expected: string
  readonly state: SessionState
  /** Reads the store when it is time; rejects with `storage_failed` when nothing is held either. */
  look(): MaybePromise<void>
  /** Follows what the store holds: a newer record is taken over, a vanished one ends the session. */
  adopt(stored: Stored): void
  hold(record: SessionRecord, maxAgeMs: number): void
  /** Ends what is held and never takes up its record, or the one named, again. */
  end(reason: SessionEndReason, id?: string): void
  /** Whether this access token came from a sign-in that is no longer the current one. */
  isFromAnotherSession(accessToken: string): boolean
  report(reason: StorageProblem): void
  /** Tells the listeners, once, what changed; never called while a lock is held. */
  flush(): void
  subscribe(listener: () => void): () => void
}

export function sessionHolder(config: AuthConfig, store: SessionStore): SessionHolder {
  const { clock, emit } = config
  let held: HeldTokens | undefined
  let expected = 'absent'
  let state: SessionState = { status: 'loading' }
  let told = state
  let reported: StorageProblem | undefined
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | undefined
  const listeners = new Set<() => void>()
  /** Sign-ins that ended here; their record may linger where it could not be removed. */
  const over = new Set<string>()
  /** The sign-in each recent access token belongs to. */
  const origins = new Map<string, string>()

  const report = (reason: StorageProblem): void => {
    if (reported !== reason) emit({ type: 'storage_degraded', reason })
    reported = reason
  }
  const setHeld = (next: HeldTokens): void => {
    const { id, tokens } = next.record
    held = next
    origins.set(tokens.accessToken, id)
    for (const [oldest] of origins) if (origins.size > 16) origins.delete(oldest)
    const { expiresAtMs } = tokens
    state = { status: 'signed-in', ...(expiresAtMs !== undefined && { expiresAtMs }) }
  }
  const end = (reason: SessionEndReason, id = held?.record.id): void => {
    if (id) over.add(id)
    if (held) {
      emit(reason === 'expired' ? { type: 'login_required' } : { type: 'session_ended', reason })
    }
    held = undefined
    if (state.status !== 'signed-out') state = { status: 'signed-out', reason }
  }
  const removeUnreadable = async (): Promise<void> => {
    await store.locked(async () => {
      if ((await store.read()) === 'unreadable') await store.remove()
    })
  }
  const adopt = (stored: Stored): void => {
    if (stored === 'unreadable') {
      report(stored)
      if (held) expected = 'absent'
      removeUnreadable().catch(() => report('remove_failed'))
    } else if (stored === 'newer' || stored === 'foreign') report(stored)
    else if (held && (expected === 'any' || expected === identityOf(stored))) return
    else if (isRecord(stored)) {
      const stale = held?.record.id === stored.id && stored.rev <= held.record.rev
      if (stale || over.has(stored.id)) return
      setHeld(holdTokens(clock, stored, Number.POSITIVE_INFINITY))
      expected = identityOf(stored)
    } else if (held) end('store_lost')
    if (!held && state.status === 'loading') state = { status: 'signed-out' }
  }
  const unreadableStore = (error: unknown): void => {
    if (!held) throw error
    report('read_failed')
  }
  const flush = (): void => {
    if (told === state) return
    told = state
    for (const listener of [...listeners]) {
      try {
        listener()
      } catch {
        // One listener's failure is not the others', nor the session's.
      }
    }
  }
  const follow = (stored: Stored): void => {
    lookedAtMs = clock.monotonicMs()
    adopt(stored)
    flush()
  }
  const look = (): MaybePromise<void> => {
    if (looking !== undefined) return looking
    if (held && clock.monotonicMs() - lookedAtMs < lookEveryMs) return
    try {
      const stored = store.read()
      if (!isPromise(stored)) {
        follow(stored)
        lookedAtMs = Number.NEGATIVE_INFINITY
        return
      }
      looking = stored
        .then(follow)
        .catch(unreadableStore)
        .finally(() => {
          looking = undefined
        })
      return looking
    } catch (error) {
      unreadableStore(error)
    }
  }
  return {
    get held() {
      return held
    },
    get state() {
      return state
    },
    look,
    adopt,
    get expected() {
      return expected
    },
    set expected(identity) {
      expected = identity
      if (held && identity === identityOf(held.record)) reported = undefined
    },
    hold: (record, maxAgeMs) => setHeld(holdTokens(clock, record, maxAgeMs)),
    end,
    isFromAnotherSession: (accessToken) => (origins.get(accessToken) ?? held?.record.id) !== held?.record.id,
    report,
    flush,
    subscribe(listener) {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
  }
}
