import type { AuthConfig } from '../config.ts'
import { present } from '../internal/plain-object.ts'
import { lifeOf } from '../tokens.ts'
import { drawMarginMs, type TokenLife } from './freshness.ts'
import { stateListeners } from './listeners.ts'
import { recentSignIns } from './recent-sign-ins.ts'
import { type ExpectedRecord, expectAbsent } from './reconcile.ts'
import { isRecord, type SessionRecord } from './record.ts'
import type { SessionEndReason, SessionState } from './state.ts'
import type { StorageProblems } from './storage-problems.ts'

/** The record in memory, with the age of its access token, which only the monotonic clock measures. */
export interface CurrentRecord extends SessionRecord, TokenLife {
  /** As in `SessionRecord`. `saveSignIn` (save.ts) sets it on this object, because a new object means new tokens. */
  late?: boolean | undefined
}

/** What one page or process knows of the session: its tokens, the public state, and the sign-ins that ended. */
export interface CurrentSession {
  /** A new object whenever the tokens change, so that `===` shows whether they are the same ones. */
  readonly record: CurrentRecord | undefined
  readonly state: SessionState
  /**
   * The sign-in that ended as `expired`, until a sign-out or the end of a later session. Its record stays, because by the clock of
   * another machine its token may be valid.
   */
  readonly expired: string | undefined
  /** The record that the storage should show. It has a meaning only while there are tokens. */
  readonly expected: ExpectedRecord
  /**
   * Rises with every change of the tokens or of `expected`, with every end, and with `ignoreReads`, so that a read that began before
   * can be discarded.
   */
  readonly version: number
  /** Makes `revalidate` (storage-sync.ts) discard a read of its own that began before now. A read of a refresh or a save still counts. */
  ignoreReads(): void
  /** Takes over tokens. Their age is that of their timestamp, but at most `maxAgeMs`. */
  set(record: SessionRecord, expected: ExpectedRecord, maxAgeMs?: number): void
  /** Sets the record that the storage should show from now on. */
  expect(expected: ExpectedRecord): void
  /** Ends the session, and marks its sign-in as ended. */
  end(reason: SessionEndReason): void
  /** Sets the state to `signed-out` if the storage had no session at its first read. */
  finishLoading(): void
  /** Marks this sign-in as ended here: its record is not used again. */
  markEnded(id: string): void
  /**
   * Returns whether the record of this sign-in must not be taken: the sign-in ended here or was replaced elsewhere
   * (recent-sign-ins.ts).
   */
  isUnwanted(id: string): boolean
  /**
   * Returns whether this access token came from a sign-in that is not the current one. A token that is not remembered counts as one of
   * the current sign-in.
   */
  isFromAnotherSignIn(accessToken: string): boolean
  /**
   * Calls the listeners if the state has changed. A refresh or a save calls it when its lock is free. A cancelled refresh, a read, a
   * sign-out and the end of an expired session call it at once, also while a lock is held.
   */
  notify(): void
  subscribe(listener: () => void): () => void
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export function currentSession({ clock, emit }: AuthConfig, problems: StorageProblems): CurrentSession {
  const recent = recentSignIns()
  const state: SessionState = { status: 'loading' }
  const listeners = stateListeners(state)
  // Members and no getters, because V8 gives each object with getters of its own a hash table, and a backend has thousands.
  const current: Mutable<CurrentSession> = {
    record: undefined,
    state,
    expired: undefined,
    expected: expectAbsent,
    version: 0,
    ignoreReads() {
      current.version++
    },
    set(record, expected, maxAgeMs) {
      const { id, tokens } = record
      // Without a record before, no sign-in is replaced.
      const previous = current.record?.id ?? id
      // A saved record of another sign-in comes from elsewhere, where it replaced the previous one.
      if (previous !== id && expected.kind === 'saved') recent.markReplaced(previous)
      // Any other is a new sign-in here.
      else if (previous !== id) recent.markEnded(previous)
      // Before `expect`, which compares its record with the current one.
      current.record = withAge(clock, record, maxAgeMs)
      current.expect(expected)
      recent.noteToken(tokens.accessToken, id)
      const { expiresAtMs } = tokens
      current.state = present<SessionState>({ status: 'signed-in', sessionRef: id, expiresAtMs })
    },
    expect(expected) {
      current.expected = expected
      current.version++
      if (expected.kind === 'saved') problems.clear('write_failed', 'remove_failed')
      // A pending write replaces the record of another sign-in, which gets a mark (recent-sign-ins.ts).
      if ('over' in expected && isRecord(expected.over) && expected.over.id !== current.record?.id)
        recent.markWrittenOver(expected.over.id)
    },
    end(reason) {
      const { record } = current
      if (record) recent.markEnded(record.id)
      current.record = undefined
      current.expired = reason === 'expired' ? record?.id : undefined
      current.version++
      if (current.state.status !== 'signed-out') current.state = { status: 'signed-out', reason }
      if (record) emit(reason === 'expired' ? { type: 'login_required' } : { type: 'session_ended', reason })
    },
    finishLoading() {
      if (current.state.status === 'loading') current.state = { status: 'signed-out' }
    },
    markEnded: recent.markEnded,
    isUnwanted: recent.isUnwanted,
    isFromAnotherSignIn(accessToken) {
      const id = current.record?.id
      return (recent.signInOf(accessToken) ?? id) !== id
    },
    notify: () => listeners.notify(current.state),
    subscribe: listeners.subscribe,
  }
  return current
}

/**
 * Starts the age of a token at that of its timestamp, but not below zero, because the wall clock may have been put back. Its margin
 * is a tenth of its life, but not over `maxMarginMs`, 60 s. Chance adds up to a tenth of that, so that pages do not refresh
 * together.
 */
function withAge(
  clock: AuthConfig['clock'],
  { id, rev, signedInAtMs, late, tokens }: SessionRecord,
  maxAgeMs: number = Number.POSITIVE_INFINITY,
): CurrentRecord {
  const lifeMs = lifeOf(tokens)
  const ageMs = Math.min(Math.max(0, clock.wallMs() - tokens.obtainedAtMs), maxAgeMs)
  const marginMs = drawMarginMs(lifeMs ?? 0)
  return { id, rev, signedInAtMs, late, tokens, bornMs: clock.monotonicMs() - ageMs, lifeMs, marginMs }
}
