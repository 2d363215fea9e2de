import type { AuthConfig } from '../../config.ts'
import { abortable } from '../../internal/timeouts.ts'
import { createSession, type Session } from '../../session.ts'
import { memoryStorage } from '../../storage/memory.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'
import { untilShown } from '../prerendering.ts'
import type { BrowserStorage } from '../storage/browser-storage.ts'
import { sharedRecord } from '../storage/fallback.ts'
import { unreadRecord } from '../storage/unread-record.ts'
import { signOutMark } from './sign-out-mark.ts'
import { joinTabs } from './tabs.ts'

export interface TabSessionOptions {
  readonly storage: BrowserStorage | undefined
  readonly key: string
  /** What the tabs of this app call each other by. */
  readonly name: string
  /** Is called at each sign-out, here or in another tab. */
  readonly signedOut: () => void
}

/** A session in step with the other tabs: what one does to the record, or a sign-out, is seen by all. */
export function createTabSession(
  config: AuthConfig,
  { storage = { ...memoryStorage(), reach: 'tab' }, key, name, signedOut }: TabSessionOptions,
): { session: Session; close(): void } {
  let isShared = storage.reach !== 'tab'
  let isDegraded = false
  let shown: string | undefined
  const mark = signOutMark(name)
  const look = (after: 'change' | 'sign-out'): void => void session.resume({ after }).catch(() => {})
  const follow = (): void => {
    // Otherwise this tab would take the same sign-out for a later one when it wakes up.
    mark.hasMoved()
    signedOut()
    if (isShared) look('sign-out')
    else signOut().catch(() => {})
  }
  const tabs = joinTabs(name, {
    heard(type) {
      unread.retry('now')
      if (type === 'changed') look('change')
      else follow()
    },
    woke() {
      // While this tab was away it heard nothing, and a record of its own tells nothing of the others.
      if (mark.hasMoved()) follow()
      look('change')
    },
  })
  const changed = (): void => tabs.tell('changed')
  const unread = unreadRecord(storage, name, { clock: config.clock, removed: changed })
  const record = sharedRecord(storage, {
    changed,
    degraded() {
      isShared = false
      isDegraded = true
      config.emit({ type: 'storage_degraded', reason: 'read_failed' })
    },
  })
  const getItem: TokenStorage['getItem'] = (item) => {
    unread.retry()
    return record.getItem(item)
  }
  const session = createSession(config, { storage: { ...record, getItem }, key })
  const { signOut, ready, resume, getAccessToken } = session
  session.ready = async () => {
    await untilShown()
    return ready()
  }
  session.resume = async (options) => {
    await untilShown()
    return resume(options)
  }
  session.getAccessToken = async (options) => {
    const shown = untilShown()
    if (shown !== undefined) await abortable(shown, options?.signal)
    return getAccessToken(options)
  }
  // Also where nobody is signed in here: other tabs may each have a session of their own.
  session.signOut = () => {
    signedOut()
    const done = signOut()
    mark.move()
    tabs.tell('signed-out')
    if (isDegraded) unread.remove()
    return done
  }
  session.subscribe(() => {
    const { sessionRef } = session.state
    // A sign-out of before this sign-in does not concern it.
    if (sessionRef !== shown) mark.hasMoved()
    // After a reload the storage may be readable, and the record in it is that of an earlier sign-in.
    if (isDegraded && sessionRef && sessionRef !== shown) unread.remove()
    shown = sessionRef
  })
  return { session, close: () => tabs.close() }
}
