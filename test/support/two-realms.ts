import type { TestClock } from './clock.ts'
import { type Realm, type SessionRig, sessionRig } from './session-rig.ts'
import { type SharedRecords, sharedRecords } from './shared-records.ts'

export interface TwoRealms extends SessionRig<TestClock> {
  readonly records: SharedRecords
  readonly here: Realm
  readonly there: Realm
}

/** Two sessions over one record, as in two tabs. */
export function twoRealms(): TwoRealms {
  const rig = sessionRig()
  const records = sharedRecords()
  const realm = (): Realm => rig.realm({ storage: records.handle() })
  return { ...rig, records, here: realm(), there: realm() }
}
