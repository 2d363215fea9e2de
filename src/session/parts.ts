import type { AuthConfig } from '../config.ts'
import type { SyncedParts } from './apply-stored.ts'
import { currentSession } from './current.ts'
import { storageProblems } from './storage-problems.ts'
import { type StorageSync, storageSync } from './storage-sync.ts'
import type { SessionStore } from './store.ts'

/** The parts of one session, which all of its steps share. */
export interface SessionParts extends SyncedParts {
  readonly sync: StorageSync
}

export function sessionParts(config: AuthConfig, store: SessionStore): SessionParts {
  const problems = storageProblems(config.emit, store)
  const synced: SyncedParts = { config, store, problems, current: currentSession(config, problems) }
  return { ...synced, sync: storageSync(synced) }
}
