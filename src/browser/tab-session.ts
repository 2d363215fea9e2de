import type { AuthConfig } from '../config.ts'
import { createSession, type Session } from '../session.ts'
import { memoryStorage } from '../storage/memory.ts'
import type { BrowserStorage } from './browser-storage.ts'
import { sharedRecord } from './shared-record.ts'
import { signOutMark } from './sign-out-mark.ts'
import { joinTabs } from './tabs.ts'

export interface TabSessionOptions {
  readonly storage: BrowserStorage | undefined
  readonly key: string
  /** What the tabs of this app call each other by. */
  readonly name: string
}

/** A session in step with the other tabs: what one does to the record, or a sign-out, is seen by all. */
export function createTabSession(
  config: AuthConfig,
  { storage = { ...memoryStorage(), reach: 'tab' }, key, name }: TabSessionOptions,
): { session: Session; close(): void } {
  let isShared = storage.reach !== 'tab'
  let isDegraded = false
  let shown: string | undefined
  const mark = signOutMark(name)
  const look = (after: 'change' | 'sign-out'): void => void session.resume({ after }).catch(() => {})
  const follow = (): void => {
    if (isShared) look('sign-out')
    else signOut().catch(() => {})
  }
  const tabs = joinTabs(name, {
    heard(type) {
      if (type === 'changed') look('change')
      else follow()
    },
    woke() {
      // While this tab was away it heard nothing, and a record of its own tells nothing of the others.
      if (mark.hasMoved()) follow()
      look('change')
    },
  })
  /** A record that could not be read must not come back after a sign-out. */
  const forgetUnread = async (): Promise<void> => {
    try {
      await storage.removeItem(name)
      tabs.tell('changed')
    } catch {
      // It cannot be removed either.
    }
  }
  const record = sharedRecord(storage, {
    changed: () => tabs.tell('changed'),
    degraded() {
      isShared = false
      isDegraded = true
      config.emit({ type: 'storage_degraded', reason: 'read_failed' })
    },
  })
  const session = createSession(config, { storage: record, key })
  const { signOut } = session
  // Also where nobody is signed in here: other tabs may each have a session of their own.
  session.signOut = () => {
    const done = signOut()
    mark.move()
    tabs.tell('signed-out')
    if (isDegraded) void forgetUnread()
    return done
  }
  session.subscribe(() => {
    const { sessionRef } = session.state
    // A sign-out of before this sign-in does not concern it.
    if (sessionRef !== shown) mark.hasMoved()
    shown = sessionRef
  })
  return { session, close: () => tabs.close() }
}
