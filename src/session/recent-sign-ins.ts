import { maxEndedSignIns, maxRememberedTokens } from '../internal/limits.ts'

/** The earlier sign-ins that one page or process remembers. It forgets the oldest first. */
export interface RecentSignIns {
  /** Notes that a sign-in ended. Its record may still be in the storage if it could not be removed. */
  markEnded(id: string): void
  hasEnded(id: string): boolean
  /** Notes which sign-in an access token belongs to. */
  noteToken(accessToken: string, id: string): void
  /** Returns the sign-in of a recent access token. */
  signInOf(accessToken: string): string | undefined
}

/** Keeps arrays, because most sessions have one token and no earlier sign-in, and an empty Set and Map take more memory. */
export function recentSignIns(): RecentSignIns {
  let ended: readonly string[] = []
  /** The newest first. */
  let tokens: readonly (readonly [accessToken: string, id: string])[] = []
  const hasEnded = (id: string): boolean => ended.includes(id)
  return {
    markEnded(id) {
      if (!hasEnded(id)) ended = [...ended, id].slice(-maxEndedSignIns)
    },
    hasEnded,
    noteToken(accessToken, id) {
      tokens = [[accessToken, id] as const, ...tokens].slice(0, maxRememberedTokens)
    },
    signInOf: (accessToken) => tokens.find(([token]) => token === accessToken)?.[1],
  }
}
