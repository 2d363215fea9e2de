import { readClaims } from '../../claims.ts'
import type { AuthConfig } from '../../config.ts'
import { objectOf, parseObject } from '../../internal/values.ts'
import { type SessionRecord, sessionName, signInMs } from '../../session/record.ts'
import { bounded, storageFailed } from '../../storage/lock.ts'
import type { Tokens } from '../../tokens.ts'
import { removeOldest } from './live-sessions.ts'
import type { LockedStorage } from './session-storage.ts'

/** How long a time that was read counts. With the second for which a session is not read again, an ending shows within two. */
const readAgainMs = 500
const maxRememberedTimes = 1_000

/**
 * The endings of all sessions, or of all sessions of a subject, as times: a session that was signed in before is over. No session is
 * looked up. The times are compared as they are stored, so the clock of a process that reads them does not matter. All methods reject
 * with `storage_failed`.
 */
export type Endings = ReturnType<typeof sessionEndings>

export function sessionEndings(config: AuthConfig, sessions: LockedStorage) {
  const { clock } = config
  const known = new Map<string, { readonly timeMs: Promise<number>; readonly readAtMs: number }>()
  // A session name has four parts, so a name with a fifth is that of no session.
  const all = `${sessionName(config, '')}:ended`
  /** The latest ending of any subject. A session that was signed in later needs no look at the ending of its own subject. */
  const anySubject = `${sessionName(config, '')}:ended-subjects`
  const ofSubject = (subject: string): string => `${sessionName(config, subject)}:ended-subject`

  const readNow = (name: string): Promise<number> => bounded(async () => timeOf(await sessions.getItem(name)))

  function read(name: string): Promise<number> {
    const last = known.get(name)
    if (last && clock.monotonicMs() - last.readAtMs < readAgainMs) return last.timeMs
    const timeMs = readNow(name)
    known.delete(name)
    known.set(name, { timeMs, readAtMs: clock.monotonicMs() })
    removeOldest(known, maxRememberedTimes)
    timeMs.catch(() => known.get(name)?.timeMs === timeMs && known.delete(name))
    return timeMs
  }

  async function write(name: string): Promise<void> {
    // Later than the ending before it, which a sign-in since then may have set its own time after.
    const atMs = Math.max(clock.wallMs(), (await readNow(name)) + 1)
    await bounded(async () => sessions.setItem(name, JSON.stringify({ v: 1, atMs }))).finally(() => known.delete(name))
  }

  return {
    /** Returns whether an ending came after the sign-in of this record. */
    async isOver(record: SessionRecord): Promise<boolean> {
      const signedInMs = signInMs(record)
      const [allMs, anyMs] = await Promise.all([read(all), read(anySubject)])
      if (signedInMs <= allMs) return true
      const subject = signedInMs <= anyMs ? subjectOf(record.tokens) : undefined
      return subject !== undefined && signedInMs <= (await read(ofSubject(subject)))
    },
    /** Returns the time of the latest ending for the user of these tokens, or 0. */
    async notBeforeMs(tokens: Tokens): Promise<number> {
      const subject = subjectOf(tokens)
      return Math.max(await readNow(all), subject === undefined ? 0 : await readNow(ofSubject(subject)))
    },
    /** Ends every session that was signed in before now, or those of the subject. */
    async end(subject?: string): Promise<void> {
      if (subject === undefined) return write(all)
      await write(ofSubject(subject))
      // Last, because a process reads the ending of a subject only after it saw this one.
      await write(anySubject)
    },
  }
}

/** Returns the subject. For text that is not well-formed it returns undefined: no name can hold that text, so it has no ending. */
function subjectOf(tokens: Tokens): string | undefined {
  const subject = readClaims(tokens)?.subject
  return subject !== undefined && isWellFormed(subject) ? subject : undefined
}

/** Returns whether a text has no surrogate without its other half. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

/** Reads what a storage returned, which some storages have parsed already. Throws `storage_failed` for any other text. */
function timeOf(raw: unknown): number {
  if (raw == null) return 0
  const { v, atMs } = (typeof raw === 'string' ? parseObject(raw) : objectOf(raw)) ?? {}
  if (v !== 1 || typeof atMs !== 'number') throw storageFailed()
  return atMs
}
