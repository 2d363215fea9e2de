import type { AuthConfig } from '../config.ts'
import { present } from '../internal/plain-object.ts'
import { lifeOf } from '../tokens.ts'
import { type CurrentRecord, drawMarginMs } from './decide-call.ts'
import type { Mine } from './merge.ts'
import type { SessionRecord } from './record.ts'
import type { SessionEndReason, SessionState } from './state.ts'

/** How many ended sign-ins a session remembers: far more than one record can still come back. */
const maxEndedSignIns = 256
/** How many access tokens a session remembers, so that it knows which sign-in a refused one came from. */
const maxRememberedTokens = 16

/** What one page or process knows of the session, and the state that it shows. */
export interface SessionMemory extends Mine {
  /** A new object whenever the tokens change, so that `===` shows whether they are the same ones. */
  readonly record: CurrentRecord | undefined
  /** Whether the storage lacks these tokens, for example because a refresh could not save them. */
  readonly unsaved: boolean
  readonly state: SessionState
  /** Rises with each change of what is known, so that a read that began before can be discarded. */
  readonly version: number
  /** Takes over tokens. Their age is that of their timestamp, but at most `maxAgeMs`. */
  become(record: SessionRecord, options?: { readonly maxAgeMs?: number; readonly unsaved?: boolean }): void
  /** Notes whether the storage lacks the tokens in memory. */
  setUnsaved(unsaved: boolean): void
  /** Ends the session for a `signIn` that replaces it. The state is `loading` until that has an outcome. */
  replace(): void
  /** Ends the session, or the wait for a `signIn` that was to replace it. */
  end(reason: SessionEndReason): void
  /** Notes that a sign-in has ended here. Its record is not used again. */
  forget(id: string | undefined): void
  /** Discards the reads that began before now. */
  discardReads(): void
  /** Shows `signed-out` if the storage had no session at its first read. */
  finishLoading(): void
  /**
   * Returns whether this access token came from a sign-in that is not the current one. A token that is not remembered counts as one of
   * the current sign-in.
   */
  isFromAnotherSignIn(accessToken: string): boolean
  /** Calls the listeners if the state has changed since the last call. Not to be called under the lock. */
  notify(): void
  subscribe(listener: () => void): () => void
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export function sessionMemory({ clock, emit }: AuthConfig): SessionMemory {
  const first: SessionState = { status: 'loading' }
  let shown = first
  let listeners: readonly (() => void)[] = []
  /** The sign-ins of recent access tokens, the newest first. */
  let tokens: readonly (readonly [accessToken: string, id: string])[] = []
  /** Whether a session waits for the `signIn` that replaces it. */
  let isReplaced = false

  // Members and no getters, because V8 gives each object with getters of its own a hash table, and a backend has thousands.
  const memory: Mutable<SessionMemory> = {
    record: undefined,
    unsaved: false,
    ended: new Set(),
    expired: undefined,
    state: first,
    version: 0,
    become(record, { maxAgeMs, unsaved = false } = {}) {
      const { id, tokens: own } = record
      memory.version++
      memory.record = withAge(clock, record, maxAgeMs)
      memory.unsaved = unsaved
      isReplaced = false
      tokens = [[own.accessToken, id] as const, ...tokens].slice(0, maxRememberedTokens)
      memory.state = present<SessionState>({ status: 'signed-in', sessionRef: id, expiresAtMs: own.expiresAtMs })
    },
    setUnsaved(unsaved) {
      if (memory.unsaved === unsaved) return
      memory.version++
      memory.unsaved = unsaved
    },
    replace() {
      if (!memory.record) return
      leave()
      isReplaced = true
      memory.state = { status: 'loading' }
    },
    end(reason) {
      const { record } = memory
      leave()
      if (reason === 'expired') memory.expired = record?.id
      if (memory.state.status !== 'signed-out') memory.state = { status: 'signed-out', reason }
      if (record || isReplaced)
        emit(reason === 'expired' ? { type: 'login_required' } : { type: 'session_ended', reason })
      isReplaced = false
    },
    forget(id) {
      memory.version++
      if (id === undefined) return
      const others = [...memory.ended].filter((one) => one !== id)
      memory.ended = new Set([...others, id].slice(-maxEndedSignIns))
    },
    discardReads() {
      memory.version++
    },
    finishLoading() {
      if (memory.state.status === 'loading') memory.state = { status: 'signed-out' }
    },
    isFromAnotherSignIn(accessToken) {
      const id = memory.record?.id
      return (tokens.find(([token]) => token === accessToken)?.[1] ?? id) !== id
    },
    notify() {
      if (shown === memory.state) return
      shown = memory.state
      for (const listener of listeners) {
        try {
          listener()
        } catch {
          // An error in one listener must not affect the other listeners or the session.
        }
      }
    },
    subscribe(listener) {
      // A wrapper for each call, because the same function may be subscribed twice, and each subscription is ended separately.
      const own = (): void => listener()
      listeners = [...listeners, own]
      return () => {
        listeners = listeners.filter((one) => one !== own)
      }
    },
  }

  function leave(): void {
    memory.forget(memory.record?.id)
    memory.record = undefined
    memory.unsaved = false
    memory.expired = undefined
  }
  return memory
}

/** Starts the age of a token at that of its timestamp, but not below zero, because the wall clock may have been put back. */
function withAge(
  clock: AuthConfig['clock'],
  record: SessionRecord,
  maxAgeMs: number = Number.POSITIVE_INFINITY,
): CurrentRecord {
  const { id, rev, signedInAtMs, tokens } = record
  const lifeMs = lifeOf(tokens)
  const ageMs = Math.min(Math.max(0, clock.wallMs() - tokens.obtainedAtMs), maxAgeMs)
  return {
    id,
    rev,
    signedInAtMs,
    tokens,
    bornMs: clock.monotonicMs() - ageMs,
    lifeMs,
    marginMs: drawMarginMs(lifeMs ?? 0),
  }
}
