import type { AuthConfig } from '../../config.ts'
import { abortable } from '../../internal/timeouts.ts'
import { createSession, type Session } from '../../session.ts'
import { memoryStorage } from '../../storage/memory.ts'
import { untilShown } from '../prerendering.ts'
import type { BrowserStorage } from '../storage/browser-storage.ts'
import { fallbackStorage, unreadRecord } from '../storage/fallback.ts'
import { signOutMark } from './sign-out-mark.ts'
import { joinTabs } from './tabs.ts'

export interface TabSessionOptions {
  readonly storage: BrowserStorage | undefined
  readonly key: string
  /** Identifies the app to its other tabs. */
  readonly name: string
  /** Is called at each sign-out, here or in another tab. */
  readonly signedOut: () => void
}

/** Creates a session that is in sync with other tabs: each change of the record, and each sign-out, reaches all of them. */
export function createTabSession(
  config: AuthConfig,
  { storage = { ...memoryStorage(), reach: 'tab' }, key, name, signedOut }: TabSessionOptions,
): { session: Session; close(): void } {
  let isShared = storage.reach !== 'tab'
  let isDegraded = false
  let sessionRef: string | undefined
  const mark = signOutMark(name)
  const revalidate = (after: 'change' | 'sign-out'): void => void session.resume({ after }).catch(() => {})
  const followSignOut = (): void => {
    // Otherwise this tab would take the same sign-out for a later one when it returns.
    mark.wasSet()
    signedOut()
    if (isShared) revalidate('sign-out')
    else signOut().catch(() => {})
  }
  const { send, close } = joinTabs(name, {
    received(type) {
      unread.retry('now')
      if (type === 'changed') revalidate('change')
      else followSignOut()
    },
    returned() {
      // While this tab was away it received no message, and a record of its own does not show what other tabs did.
      if (mark.wasSet()) followSignOut()
      revalidate('change')
    },
  })
  const changed = (): void => send('changed')
  const unread = unreadRecord(storage, name, { clock: config.clock, removed: changed })
  const record = fallbackStorage(storage, {
    changed,
    degraded() {
      isShared = false
      isDegraded = true
      config.emit({ type: 'storage_degraded', reason: 'read_failed' })
    },
  })
  const session = createSession(config, {
    key,
    storage: {
      ...record,
      getItem(item) {
        unread.retry()
        return record.getItem(item)
      },
    },
  })
  const { signOut, ready, resume, getAccessToken } = session
  const whenShown =
    <A extends readonly unknown[], R>(method: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      const shown = untilShown()
      if (shown !== undefined) await abortable(shown, (given[0] as { signal?: AbortSignal } | undefined)?.signal)
      return method(...given)
    }
  session.ready = whenShown(ready)
  session.resume = whenShown(resume)
  session.getAccessToken = whenShown(getAccessToken)
  // Other tabs may each have a session of their own, so the message is sent even if the user is signed out here.
  session.signOut = () => {
    signedOut()
    const done = signOut()
    mark.set()
    send('signed-out')
    if (isDegraded) unread.remove()
    return done
  }
  session.subscribe(() => {
    const before = sessionRef
    sessionRef = session.state.sessionRef
    if (sessionRef === before) return
    // A sign-out before this sign-in does not concern it.
    mark.wasSet()
    // After a reload the storage may be readable, and the record in it is that of an earlier sign-in.
    if (isDegraded && sessionRef) unread.remove()
  })
  return { session, close }
}
