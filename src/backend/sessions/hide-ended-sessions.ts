import { decodeRecord, isRecord, type SessionRecord } from '../../session/record.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'
import { after } from './after.ts'
import type { Endings } from './bulk-endings.ts'
import type { LastUses } from './last-use.ts'
import type { EndedSession, RemoveEnded } from './remove-ended.ts'
import type { LockedStorage } from './storage-failure-events.ts'

interface Validity {
  readonly endings: Endings
  /** Undefined if `idleMs` is not set, so that no session ends for lack of use. */
  readonly uses: LastUses | undefined
  readonly removeEnded: RemoveEnded
}

type Read = ReturnType<LockedStorage['getItem']>

/**
 * Returns a storage that shows no record of an ended session. For a session in memory this is a sign-out elsewhere: it ends, and
 * saves nothing that a refresh in progress brings.
 */
export function validSessions(sessions: LockedStorage, validity: Validity): LockedStorage {
  const { endings, uses, removeEnded } = validity
  function show(name: string, raw: Awaited<Read>): Read {
    const record = decodeRecord(name, raw)
    if (!isRecord(record)) return raw
    return after(endingOf(name, record, validity), (found) => {
      if (!found) return raw
      void removeEnded(name, found)
      return null
    })
  }
  return {
    ...sessions,
    getItem: (name) =>
      after(sessions.getItem(name), (raw): Read => {
        // An invented cookie costs one read.
        if (raw == null) return raw
        // Without `idleMs` and without an ending, no record is parsed.
        const mustCheck: MaybePromise<boolean> = uses ? true : endings.exist()
        return after(mustCheck, (must) => (must ? show(name, raw) : raw))
      }),
    async removeItem(name) {
      await sessions.removeItem(name)
      await uses?.forget(name)
    },
  }
}

function endingOf(
  name: string,
  record: SessionRecord,
  { endings, uses }: Validity,
): MaybePromise<EndedSession | undefined> {
  const { hasEnded } = endings
  const { id } = record
  return after(hasEnded(name, record), (ended): MaybePromise<EndedSession | undefined> => {
    if (ended) return { reason: 'ended', id }
    return uses && after(uses.isIdle(name, record), (idle) => (idle ? { reason: 'idle', id } : undefined))
  })
}
