import type { AuthConfig } from '../../config.ts'
import { abortable } from '../../internal/timeouts.ts'
import { createHookedSession, type Session } from '../../session.ts'
import { memoryStorage } from '../../storage/memory.ts'
import type { TokenStorage } from '../../storage/token-storage.ts'
import type { BrowserStorage } from '../options.ts'
import { untilShown } from '../prerendering.ts'
import { fallbackStorage, unreadRecord } from '../storage/memory-fallback.ts'
import { missedSignOut } from './missed-sign-out.ts'
import { openTabChannel } from './tab-channel.ts'

export interface TabSessionOptions {
  readonly storage: BrowserStorage | undefined
  readonly key: string
  /** Identifies the app to its other tabs. */
  readonly name: string
  /** Is called at each sign-out, here or in another tab. It discards a login that is being finished here or in a popup (auth.ts). */
  readonly signedOut: () => void
}

/**
 * Creates a session that is in sync with other tabs: each change of the record, and each sign-out, reaches all of them. If another
 * user signs in in another tab and the tabs share the storage, this tab takes over that session, and calls that began before reject
 * with `session_changed`.
 */
export function createTabSession(
  config: AuthConfig,
  { storage = { ...memoryStorage(), reach: 'tab' }, key, name, signedOut }: TabSessionOptions,
): { session: Session; close(): void } {
  const mark = missedSignOut(name)
  const revalidate = (after: 'change' | 'sign-out'): void => void session.resume({ after }).catch(() => {})
  // With a storage that tabs share, the session reads the record again, finds none and ends (`store_lost`). A session of this tab
  // alone, and one whose record is not saved (`endUnsaved`), end at once (`signed_out`).
  const followSignOut = (): void => {
    // Otherwise this tab would take the same sign-out for a later one when it returns.
    mark.wasSet()
    signedOut()
    if (storage.reach !== 'tab' && !record.isDegraded()) revalidate('sign-out')
    else followHere().catch(() => {})
  }
  const { send, close } = openTabChannel(name, {
    received(type) {
      record.retryRemoval()
      if (type === 'changed') revalidate('change')
      else followSignOut()
    },
    returned() {
      // A tab that was hidden, frozen, offline or in the back/forward cache received no message, and a record of its own does
      // not show what other tabs did. The mark in localStorage, which each sign-out changes, does (missed-sign-out.ts).
      if (mark.wasSet()) followSignOut()
      revalidate('change')
    },
  })
  const record = tabStorage(storage, { name, config, changed: () => send('changed') })
  const { session, followSignOut: followHere } = createHookedSession(
    config,
    { storage: record.storage, key },
    {
      // Other tabs may each have a session of their own, so the message is sent even if the user is signed out here.
      onSignOut() {
        signedOut()
        mark.set()
        send('signed-out')
        record.removeUnread()
      },
    },
  )
  waitUntilShown(session)
  let sessionRef: string | undefined
  session.subscribe(() => {
    const before = sessionRef
    sessionRef = session.state.sessionRef
    if (sessionRef === before) return
    // A sign-out before this sign-in does not concern it.
    mark.wasSet()
    // After a reload the storage may be readable, and the record in it is that of an earlier sign-in.
    if (sessionRef) record.removeUnread()
  })
  return { session, close }
}

interface TabStorageOptions {
  readonly config: AuthConfig
  readonly name: string
  readonly changed: () => void
}

interface TabStorage {
  readonly storage: TokenStorage
  isDegraded(): boolean
  /** Removes the record that this tab could not read, if records live in memory. */
  removeUnread(): void
  /** Tries a removal that failed again. */
  retryRemoval(): void
}

/** Reports each change of the record. If the storage cannot be used, records live in memory. */
function tabStorage(inner: TokenStorage, { config, name, changed }: TabStorageOptions): TabStorage {
  let isDegraded = false
  const unread = unreadRecord(inner, name, {
    clock: config.clock,
    isDegraded: () => isDegraded,
    removed: changed,
    failed: () => config.emit({ type: 'storage_degraded', reason: 'remove_failed' }),
  })
  const storage = fallbackStorage(inner, {
    changed,
    degraded() {
      isDegraded = true
      config.emit({ type: 'storage_degraded', reason: 'read_failed' })
      // The user may have signed out before the first read failed.
      unread.retry('now')
    },
  })
  const getItem: TokenStorage['getItem'] = (key) => {
    unread.retry()
    return storage.getItem(key)
  }
  return {
    storage: { ...storage, getItem },
    isDegraded: () => isDegraded,
    removeUnread: unread.remove,
    retryRemoval: () => unread.retry('now'),
  }
}

/** Makes a session of a prerendered page wait until the browser shows the page. */
function waitUntilShown(session: Session): void {
  const whenShown =
    <A extends readonly unknown[], R>(method: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      const shown = untilShown()
      if (shown !== undefined) await abortable(shown, (given[0] as { signal?: AbortSignal } | undefined)?.signal)
      return method(...given)
    }
  session.ready = whenShown(session.ready)
  session.resume = whenShown(session.resume)
  session.getAccessToken = whenShown(session.getAccessToken)
}
