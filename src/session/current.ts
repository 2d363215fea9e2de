import type { AuthConfig } from '../config.ts'
import { isAgentAuthError } from '../errors.ts'
import type { StorageProblem } from '../events.ts'
import { present } from '../internal/present.ts'
import { attempted } from '../internal/timeouts.ts'
import type { MaybePromise } from '../storage/token-storage.ts'
import { compareStored, type ExpectedRecord, expectAbsent, expectSaved } from './expected.ts'
import { holdTokens } from './held-tokens.ts'
import { recentSignIns } from './recent-sign-ins.ts'
import { isRecord, type SessionRecord, type Stored } from './record.ts'
import type { SessionEndReason, SessionHolder, SessionState } from './state.ts'
import { isPromise, type SessionStore } from './store.ts'

/** How long an asynchronous storage may be taken at its last word. */
const lookEveryMs = 1_000

const discardEveryMs = 5_000

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export function sessionHolder(config: AuthConfig, store: SessionStore): SessionHolder {
  /** Rises with every change here, so that a reading begun before one is dropped. */
  let epoch = 0
  let followed: Stored | undefined
  // Not a number: never yet, so that no comparison holds.
  let discardAtMs = Number.NaN
  let lookedAtMs = Number.NaN
  let looking: Promise<void> | undefined
  /** Problems that were told and have not gone away. */
  let reported: readonly StorageProblem[] = []
  let listeners: readonly (() => void)[] = []
  const recent = recentSignIns()
  /** How many sign-outs have not yet removed what they found. */
  let leaving = 0
  const nowMs = (): number => config.clock.monotonicMs()
  // Members and not getters: V8 gives each object with getters of its own a hash table, and a backend keeps thousands.
  const holder: Mutable<SessionHolder> = {
    config,
    store,
    held: undefined,
    state: { status: 'loading' },
    expected: expectAbsent,
    expect,
    look,
    adopt,
    hold,
    end,
    ignoreUntil,
    markOver: recent.end,
    isOver: recent.isOver,
    isFromAnotherSession,
    report,
    flush,
    subscribe,
  }
  let told = holder.state

  function expect(expected: ExpectedRecord): void {
    holder.expected = expected
    epoch++
    if (expected.kind === 'saved') forgive('write_failed', 'remove_failed')
    // A record that this session replaces must not come back, also not with a later revision.
    if (expected.kind === 'unsaved' && isRecord(expected.over) && expected.over.id !== holder.held?.record.id)
      recent.end(expected.over.id)
  }

  function look(when: 'due' | 'now' = 'due'): MaybePromise<void> {
    if (looking !== undefined) {
      const before = looking
      return when === 'due' ? before : attempted(() => before).then(() => look(when))
    }
    if (when === 'due' && holder.held && nowMs() - lookedAtMs < lookEveryMs) return
    try {
      const stored = store.read()
      if (!isPromise(stored)) return follow(stored)
      looking = lookLater(stored)
      return looking
    } catch (error) {
      unreadable(error)
    }
  }

  async function lookLater(reading: Promise<Stored>): Promise<void> {
    try {
      const begun = epoch
      const stored = await reading
      if (begun !== epoch) return
      follow(stored)
      lookedAtMs = nowMs()
    } catch (error) {
      unreadable(error)
    } finally {
      looking = undefined
    }
  }

  function follow(stored: Stored): void {
    // The store gives the same object while nothing changed: the usual call stops here.
    if (isRecord(stored) && stored === followed && holder.expected.kind === 'saved') return
    followed = stored
    adopt(stored)
    flush()
  }

  function unreadable(error: unknown): void {
    if (!holder.held || !isAgentAuthError(error)) throw error
    followed = undefined
    lookedAtMs = nowMs()
    report('read_failed')
  }

  function adopt(stored: Stored): void {
    if (leaving > 0) return
    if (stored === 'absent' || isRecord(stored)) forgive('read_failed', 'unreadable', 'newer', 'foreign')
    else report(stored)
    if (stored === 'unreadable') discard((still) => still === stored)
    if (holder.held) change(stored, holder.held.record)
    else if (isRecord(stored)) start(stored)
    if (!holder.held && holder.state.status === 'loading') holder.state = { status: 'signed-out' }
  }

  function change(stored: Stored, current: SessionRecord): void {
    const decided = compareStored(stored, { current, expected: holder.expected, isEnded: recent.isOver })
    if (decided.change === 'expect') expect(decided.expected)
    if (decided.change === 'take') hold(decided.record, expectSaved)
    if (decided.change === 'end') end('store_lost')
  }

  function start(stored: SessionRecord): void {
    if (!recent.isOver(stored.id)) hold(stored, expectSaved)
    // What expired here may still live for a machine with another clock.
    else if (holder.state.reason !== 'expired') discard((still) => isRecord(still) && recent.isOver(still.id))
  }

  /** Removes what should not be in the store, such as a write that landed after a sign-out, if it still stands there. */
  function discard(isStill: (stored: Stored) => boolean): void {
    if (nowMs() < discardAtMs) return
    discardAtMs = nowMs() + discardEveryMs
    const remove = async (): Promise<void> => {
      if (isStill(await store.read())) await store.remove()
    }
    store.locked(remove).catch(() => report('remove_failed'))
  }

  function hold(record: SessionRecord, expected: ExpectedRecord, maxAgeMs?: number): void {
    const { id, tokens } = record
    const { accessToken, expiresAtMs } = tokens
    if (holder.held && holder.held.record.id !== id) recent.end(holder.held.record.id)
    holder.held = holdTokens(config.clock, record, maxAgeMs)
    expect(expected)
    followed = undefined
    recent.noteToken(accessToken, id)
    holder.state = present<SessionState>({ status: 'signed-in', sessionRef: id, expiresAtMs })
  }

  function end(reason: SessionEndReason, id: string | undefined = holder.held?.record.id): void {
    if (id) recent.end(id)
    const ended = holder.held
    holder.held = undefined
    epoch++
    if (holder.state.status !== 'signed-out') holder.state = { status: 'signed-out', reason }
    if (ended) config.emit(reason === 'expired' ? { type: 'login_required' } : { type: 'session_ended', reason })
  }

  function ignoreUntil(work: Promise<unknown>): void {
    leaving++
    const follow = (): void => {
      leaving--
      epoch++
      followed = undefined
    }
    work.then(follow, follow)
  }

  function report(reason: StorageProblem): void {
    if (reported.includes(reason)) return
    reported = [...reported, reason]
    config.emit({ type: 'storage_degraded', reason })
  }

  function forgive(...reasons: StorageProblem[]): void {
    reported = reported.filter((reason) => !reasons.includes(reason))
  }

  function flush(): void {
    if (told === holder.state) return
    told = holder.state
    for (const listener of listeners) {
      try {
        listener()
      } catch {
        // One listener's failure is not the others', nor the session's.
      }
    }
  }

  function isFromAnotherSession(accessToken: string | undefined): boolean {
    const id = holder.held?.record.id
    return (recent.ofToken(accessToken) ?? id) !== id
  }

  function subscribe(listener: () => void): () => void {
    // The same function may listen twice, and each of the two stops by itself.
    const own = (): void => listener()
    listeners = [...listeners, own]
    return () => {
      listeners = listeners.filter((one) => one !== own)
    }
  }

  return holder
}
