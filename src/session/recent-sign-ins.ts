import { maxEndedSignIns, maxRememberedTokens } from '../internal/limits.ts'

/** The earlier sign-ins that one page or process remembers. It forgets the oldest first. */
export interface RecentSignIns {
  /** Notes that a sign-in ended. Its record may still be in the storage if it could not be removed. */
  markEnded(id: string): void
  /** Notes that another page or process replaced this sign-in. It counts as ended until its record is written over here. */
  markReplaced(id: string): void
  /**
   * Notes that a record which came back is written over here. This removes the mark of a replaced sign-in. First return: a late
   * write, written over. Second return: another page uses it, so it is taken, or both would write over each other without end.
   */
  markWrittenOver(id: string): void
  hasEnded(id: string): boolean
  /** Notes which sign-in an access token belongs to. */
  noteToken(accessToken: string, id: string): void
  /** Returns the sign-in of a recent access token. */
  signInOf(accessToken: string): string | undefined
}

/** Keeps arrays, because most sessions have one token and no earlier sign-in, and an empty Set and Map take more memory. */
export function recentSignIns(): RecentSignIns {
  let ended: readonly string[] = []
  /** The ended sign-ins that another page or process replaced, and those that came back after that. */
  let replaced = ended
  let cameBack = ended
  /** The newest first. */
  let tokens: readonly (readonly [accessToken: string, id: string])[] = []
  const hasEnded = (id: string): boolean => ended.includes(id)
  function markEnded(id: string): void {
    ended = including(ended, id)
    replaced = excluding(replaced, id)
  }
  return {
    markEnded,
    markReplaced(id) {
      if (cameBack.includes(id)) return
      ended = including(ended, id)
      replaced = including(replaced, id)
    },
    markWrittenOver(id) {
      if (!replaced.includes(id)) return markEnded(id)
      ended = excluding(ended, id)
      replaced = excluding(replaced, id)
      cameBack = including(cameBack, id)
    },
    hasEnded,
    noteToken(accessToken, id) {
      tokens = [[accessToken, id] as const, ...tokens].slice(0, maxRememberedTokens)
    },
    signInOf: (accessToken) => tokens.find(([token]) => token === accessToken)?.[1],
  }
}

function including(ids: readonly string[], id: string): readonly string[] {
  return ids.includes(id) ? ids : [...ids, id].slice(-maxEndedSignIns)
}

function excluding(ids: readonly string[], id: string): readonly string[] {
  return ids.includes(id) ? ids.filter((one) => one !== id) : ids
}
