import type { AuthConfig } from '../../config.ts'
import { randomText } from '../../internal/base64url.ts'
import { endingLimits } from '../../internal/limits.ts'
import { objectOf, parseObject } from '../../internal/plain-object.ts'
import { succeeds } from '../../internal/timeouts.ts'
import { isPromise } from '../../session/store.ts'
import { bounded, storageErrorOf, storageFailed } from '../../storage/time-limits.ts'
import type { MaybePromise, TokenStorage } from '../../storage/token-storage.ts'
import { removeOldest } from '../remove-oldest.ts'

/** One stored ending of many sessions. */
export interface EndingMark {
  /** Random. A sign-in notes it, so that a session without it began before, on any clock. */
  readonly mark: string
  /** When it was written, in epoch milliseconds. */
  readonly atMs: number
}

/**
 * The endings in the storage, by name. They stay until the storage removes them, and a process remembers some
 * (`endingLimits.maxRemembered`, 1,000).
 */
export interface EndingMarks {
  /**
   * Returns the ending of this name, if there is one. With an asynchronous storage, `recent` accepts a read that began less than
   * `endingLimits.readMs`, 500 ms, ago, or shares one in progress. `now` always begins a read of its own. A synchronous storage is read at
   * each call. Throws or rejects with `storage_failed` if the storage fails or has another text there.
   */
  read(name: string, when: 'recent' | 'now'): MaybePromise<EndingMark | undefined>
  /** Writes another ending. Rejects with `storage_failed` if that may not have taken effect. */
  write(name: string): Promise<void>
}

interface Known {
  readonly found: EndingMark | undefined
  readonly readAtMs: number
}

export function endingMarks({ clock }: AuthConfig, sessions: TokenStorage): EndingMarks {
  const known = new Map<string, Known>()
  const reading = new Map<string, Promise<EndingMark | undefined>>()

  function readLater(name: string, raw: Promise<unknown>): Promise<EndingMark | undefined> {
    const readAtMs = clock.monotonicMs()
    const mine = bounded(async () => decodeMark(await raw))
    reading.set(name, mine)
    const remember = async (): Promise<void> => {
      const isRead = await succeeds(mine)
      // If another read of this name has begun since, or a write has ended, this result may be out of date, and is not remembered.
      if (reading.get(name) !== mine) return
      reading.delete(name)
      if (!isRead) return
      known.delete(name)
      known.set(name, { found: await mine, readAtMs })
      removeOldest(known, endingLimits.maxRemembered)
    }
    void remember()
    return mine
  }

  return {
    read(name, when) {
      const last = known.get(name)
      if (when === 'recent' && last && clock.monotonicMs() - last.readAtMs < endingLimits.readMs) return last.found
      const shared = when === 'recent' ? reading.get(name) : undefined
      if (shared !== undefined) return shared
      try {
        const raw = sessions.getItem(name)
        return isPromise(raw) ? readLater(name, raw) : decodeMark(raw)
      } catch (error) {
        throw storageErrorOf(error)
      }
    },
    async write(name) {
      const text = JSON.stringify({ v: 1, mark: randomText(), atMs: clock.wallMs() })
      try {
        await bounded(async () => sessions.setItem(name, text))
      } finally {
        known.delete(name)
        reading.delete(name)
      }
    },
  }
}

/** Reads what a storage returned, which some storages have parsed already. Throws `storage_failed` for any other text. */
function decodeMark(raw: unknown): EndingMark | undefined {
  if (raw == null) return undefined
  const { v, mark, atMs } = (typeof raw === 'string' ? parseObject(raw) : objectOf(raw)) ?? {}
  if (v !== 1 || typeof mark !== 'string' || typeof atMs !== 'number') throw storageFailed()
  return { mark, atMs }
}
