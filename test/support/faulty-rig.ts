import type { TokenStorage } from 'agent-auth'
import { secret } from './canary.ts'
import type { TestClock } from './clock.ts'
import { type Realm, type SessionRig, sessionRig } from './session-rig.ts'
import { type SharedRecords, sharedRecords } from './shared-records.ts'

export interface FaultyRig extends SessionRig<TestClock>, Realm {
  readonly records: SharedRecords
  /** The operations that fail now. */
  readonly failing: Set<string>
  readonly counts: { getItem: number; setItem: number; removeItem: number }
  readonly storage: TokenStorage
}

/** A session over a storage whose operations fail while they are in `failing`. */
export function faulty(mode: 'throws' | 'rejects' = 'throws'): FaultyRig {
  const rig = sessionRig()
  const records = sharedRecords()
  const failing = new Set<string>()
  const counts = { getItem: 0, setItem: 0, removeItem: 0 }
  const text = secret('text of a storage error')
  const storage = records.handle({
    ...(mode === 'rejects' && { step: () => Promise.resolve() }),
    fault(operation) {
      counts[operation] += 1
      if (failing.has(operation)) throw new DOMException(text, 'QuotaExceededError')
    },
  })
  return { ...rig, records, failing, counts, storage, ...rig.realm({ storage }) }
}
