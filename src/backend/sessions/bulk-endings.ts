import { readClaims } from '../../claims.ts'
import type { AuthConfig } from '../../config.ts'
import { randomText } from '../../internal/base64url.ts'
import { type SessionRecord, sessionName, signInMs } from '../../session/record.ts'
import type { MaybePromise } from '../../storage/token-storage.ts'
import type { Tokens } from '../../tokens.ts'
import { after } from './after.ts'
import { confirmed } from './confirm-ended.ts'
import { type EndingMark, endingMarks } from './ending-marks.ts'
import type { LockedStorage } from './storage-failure-events.ts'

/**
 * The endings of all sessions, or of all sessions of a subject. No session is looked up: each sign-in notes the endings before it.
 * A process sees an ending within two seconds. It reads the record of a session again after `revalidateAfterMs`, 1 s. What it then knows
 * of the endings is at most `endingLimits.readMs`, 500 ms, old, or comes from a read in progress, which may take longer.
 */
export interface Endings {
  /** Returns whether the storage has an ending at all. Rejects if the storage fails. */
  exist(): MaybePromise<boolean>
  /** Returns whether an ending came after the sign-in of this record, which has this name. Rejects if the storage fails. */
  hasEnded(name: string, record: SessionRecord): MaybePromise<boolean>
  /** Returns the id of a new sign-in, which notes the endings before it. Rejects with `storage_failed`. */
  signInId(tokens: Tokens): Promise<string>
  /** Ends every session that began before. Rejects with `storage_failed`. */
  endAll(): Promise<void>
  /** Ends the sessions of this subject that began before. Rejects with `storage_failed`. */
  endSessionsOf(subject: string): Promise<void>
}

/** The endings that concern one session. */
interface Concerning {
  readonly all: EndingMark | undefined
  readonly own: EndingMark | undefined
}

export function sessionEndings(config: AuthConfig, sessions: LockedStorage): Endings {
  const marks = endingMarks(config, sessions)
  // A session name has four parts, so a name with a fifth is that of no session.
  const allName = `${sessionName(config, '')}:ended`
  /**
   * Exists once the sessions of any subject were ended. Until then the check of a record reads no ending of a single subject.
   * `endSessionsOf` writes the ending of the subject first, and this record last. A sign-in between the two writes comes after the ending
   * of its subject and must note it. If it did not, that ending would end the new session once this record exists. So `signInId` reads
   * the ending of the subject even if this record does not exist.
   */
  const anySubjectName = `${sessionName(config, '')}:ended-subjects`
  const nameOf = (subject: string): string => `${sessionName(config, subject)}:ended-subject`
  const read = marks.read

  function concerning({ tokens }: SessionRecord, when: 'recent' | 'now'): MaybePromise<Concerning> {
    const ofSubject = after(read(anySubjectName, when), (any): MaybePromise<EndingMark | undefined> => {
      const subject = any && subjectOf(tokens)
      return subject === undefined ? undefined : read(nameOf(subject), when)
    })
    return after(ofSubject, (own) => after(read(allName, when), (all) => ({ all, own })))
  }

  const isOverBy = (record: SessionRecord, when: 'recent' | 'now'): MaybePromise<boolean> =>
    after(concerning(record, when), (known) => isOver(record, known))

  return {
    exist: () =>
      after(
        read(allName, 'recent'),
        (found) => found !== undefined || after(read(anySubjectName, 'recent'), (any) => !!any),
      ),
    hasEnded: (name, record) =>
      // A sign-in notes the marks of the endings before it (`signInId`). Marks have no order: any other mark than the noted one counts as
      // a later ending (`isBefore`). The mark that was read may be older than the noted one, because this process remembers marks, and a
      // database may read from a copy that lags behind. It would end a valid session. So `confirmed` reads the marks
      // again. If an asynchronous storage still shows an ending, it reads once more under a lock, where no database reads from a copy.
      after(isOverBy(record, 'recent'), (ended) => ended && confirmed(sessions, name, () => isOverBy(record, 'now'))),
    async signInId(tokens) {
      const subject = subjectOf(tokens)
      const [all, own] = await Promise.all([
        read(allName, 'now'),
        subject === undefined ? undefined : read(nameOf(subject), 'now'),
      ])
      return [randomText(), all?.mark, own?.mark].join('.')
    },
    endAll: () => marks.write(allName),
    async endSessionsOf(subject) {
      await marks.write(nameOf(subject))
      // Last, because a process reads the ending of a subject only if this one exists.
      await marks.write(anySubjectName)
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

function isOver(record: SessionRecord, { all, own }: Concerning): boolean {
  const [, noted, notedOwn] = record.id.split('.')
  return isBefore(record, all, noted) || isBefore(record, own, notedOwn)
}

/**
 * Returns whether the sign-in came before the ending. The id of a sign-in here has a part for each mark (`signInId`). The part is
 * empty if no ending existed then, so every later ending differs from it. The id of a sign-in outside of this backend, with a key of the
 * app's own, has no such parts, so the times are compared.
 */
function isBefore(record: SessionRecord, ending: EndingMark | undefined, noted: string | undefined): boolean {
  if (!ending) return false
  return noted === undefined ? signInMs(record) <= ending.atMs : noted !== ending.mark
}
