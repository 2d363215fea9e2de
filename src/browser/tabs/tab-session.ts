import type { AuthConfig } from '../../config.ts'
import { abortable } from '../../internal/timeouts.ts'
import { openSession, type Session } from '../../session.ts'
import { memoryStorage } from '../../storage/memory.ts'
import type { BrowserStorage } from '../options.ts'
import { untilShown } from '../prerendering.ts'
import { fallbackStorage } from '../storage/memory-fallback.ts'
import { missedSignOut } from './missed-sign-out.ts'
import { openTabChannel } from './tab-channel.ts'

export interface TabSessionOptions {
  readonly storage: BrowserStorage | undefined
  readonly key: string
  /** Identifies the app to its other tabs. */
  readonly name: string
  /** Called at each sign-out, here or in another tab. */
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
  const isOwn = storage.reach === 'tab'
  const mark = missedSignOut(name)
  // While this tab showed another site. Such a sign-out ends a session of this tab, and no login that is being finished.
  const isOutdated = mark.wasSet() && isOwn
  const revalidate = (after: 'change' | 'sign-out'): void => void session.resume({ after }).catch(() => {})
  const { send, close } = openTabChannel(name, {
    received(type) {
      if (type === 'signed-out') followSignOut()
      else revalidate('change')
    },
    returned() {
      // A tab that was hidden, frozen, offline or in the back/forward cache received no message.
      if (mark.wasSet()) followSignOut()
      revalidate('change')
    },
  })
  const records = fallbackStorage(storage, name, {
    changed: () => send('changed'),
    degraded: (reason) => config.emit({ type: 'storage_degraded', reason }),
    isOutdated,
  })
  const { session } = openSession(config, { storage: records.storage, key })

  function followSignOut(): void {
    // Otherwise this tab would take the same sign-out for a later one when it returns.
    mark.wasSet()
    signedOut()
    // A record that other tabs cannot remove ends here. A shared one was removed, and the session sees that.
    if (isOwn || records.isDegraded()) signOut().catch(() => {})
    else revalidate('sign-out')
  }

  let sessionRef: string | undefined
  session.subscribe(() => {
    const before = sessionRef
    sessionRef = session.state.sessionRef
    // A sign-out before a sign-in does not concern it.
    if (sessionRef !== before) mark.wasSet()
  })
  const { resume, signOut } = session
  session.signOut = () => {
    const done = signOut()
    signedOut()
    mark.set()
    // Other tabs may each have a session of their own, so the message is sent even if the user is signed out here.
    send('signed-out')
    void records.removeLeft()
    return done
  }
  // At once if possible, so that a call right after it waits for the read.
  session.resume = (options) =>
    records.isDegraded() ? records.tryAgain().then(() => resume(options)) : resume(options)
  if (untilShown() !== undefined) waitUntilShown(session)
  return { session, close }
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
