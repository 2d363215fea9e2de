import { maxEndedSignIns, maxRememberedTokens } from '../internal/limits.ts'

/**
 * How a sign-in ended.
 *
 * | Mark | Set by | If its record comes back |
 * |---|---|---|
 * | `ended` | `markEnded`; `markWrittenOver`, if the sign-in has no mark yet | It is written over or removed, each time. The record of a session that expired here is left (`expired` in current.ts). |
 * | `replaced` | `markReplaced` | If there are tokens here, it is written over once, because it may be a late write, and the mark becomes `came_back`. Without tokens it is removed, each time. |
 * | `came_back` | `markWrittenOver`, if the sign-in has the mark `replaced`. Only `markEnded` changes it then. | It is taken, because another page uses it and both would write over each other forever. |
 */
type Mark = 'ended' | 'replaced' | 'came_back'

/**
 * The earlier sign-ins that one page or process remembers (`maxEndedSignIns`, 256), and the sign-ins of recent access tokens
 * (`maxRememberedTokens`, 16). It forgets the oldest first.
 */
export interface RecentSignIns {
  /** Notes that a sign-in ended. Its record may still be in the storage if it could not be removed. */
  markEnded(id: string): void
  /** Notes that another page or process replaced this sign-in. */
  markReplaced(id: string): void
  /** Notes that this session writes over the record of this sign-in. If that was `replaced`, it came back. */
  markWrittenOver(id: string): void
  /** Returns whether the record of this sign-in must not be taken: it has the mark `ended` or `replaced`. */
  isUnwanted(id: string): boolean
  /** Notes which sign-in an access token belongs to. */
  noteToken(accessToken: string, id: string): void
  /** Returns the sign-in of a recent access token. */
  signInOf(accessToken: string): string | undefined
}

/** Keeps arrays, because most sessions have one token and no earlier sign-in, and an empty Set and Map take more memory. */
export function recentSignIns(): RecentSignIns {
  let marks: readonly (readonly [id: string, mark: Mark])[] = []
  /** The newest first. */
  let tokens: readonly (readonly [accessToken: string, id: string])[] = []
  const markOf = (id: string): Mark | undefined => marks.find(([one]) => one === id)?.[1]
  function set(id: string, mark: Mark): void {
    marks = [...marks.filter(([one]) => one !== id), [id, mark] as const].slice(-maxEndedSignIns)
  }
  return {
    markEnded: (id) => set(id, 'ended'),
    markReplaced(id) {
      if (markOf(id) !== 'came_back') set(id, 'replaced')
    },
    markWrittenOver(id) {
      const mark = markOf(id)
      // Called again for each try of one write. `came_back` stays, so that the record is taken when it comes back after that.
      if (mark !== 'came_back') set(id, mark === 'replaced' ? 'came_back' : 'ended')
    },
    isUnwanted(id) {
      const mark = markOf(id)
      return mark !== undefined && mark !== 'came_back'
    },
    noteToken(accessToken, id) {
      tokens = [[accessToken, id] as const, ...tokens].slice(0, maxRememberedTokens)
    },
    signInOf: (accessToken) => tokens.find(([token]) => token === accessToken)?.[1],
  }
}
