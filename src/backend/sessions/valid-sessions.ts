import { decodeRecord, isRecord } from '../../session/record.ts'
import { after } from './after.ts'
import type { Endings } from './endings.ts'
import type { RemoveEnded } from './remove-ended.ts'
import type { LockedStorage } from './watched-storage.ts'

type Read = ReturnType<LockedStorage['getItem']>

/**
 * Returns a storage that shows no record of an ended session. For a session in memory this is a sign-out elsewhere: it ends, and
 * saves nothing that a refresh in progress brings.
 */
export function validSessions(sessions: LockedStorage, endings: Endings, removeEnded: RemoveEnded): LockedStorage {
  function show(name: string, raw: Awaited<Read>): Read {
    const record = decodeRecord(name, raw)
    if (!isRecord(record)) return raw
    return after(endings.hasEnded(record), (ended) => {
      if (!ended) return raw
      void removeEnded(name, endings.hasEnded)
      return null
    })
  }
  return {
    ...sessions,
    getItem: (name) =>
      after(sessions.getItem(name), (raw): Read => {
        // An invented cookie costs one read.
        if (raw == null) return raw
        return after(endings.exist(), (exist) => (exist ? show(name, raw) : raw))
      }),
  }
}
