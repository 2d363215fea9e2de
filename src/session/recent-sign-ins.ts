/** How many sign-ins that ended are remembered: far more than one record can still come back. */
const maxOver = 256
const maxTokens = 16

/** What one realm remembers of earlier sign-ins, oldest forgotten first. */
export interface RecentSignIns {
  /** Notes that a sign-in ended; its record may linger where it could not be removed. */
  end(id: string): void
  isOver(id: string): boolean
  noteToken(accessToken: string, id: string): void
  /** The sign-in a recent access token belongs to. */
  ofToken(accessToken: string | undefined): string | undefined
}

/** Arrays, because most sessions have one token and no sign-in before: a Set and a Map would take more than what they hold. */
export function recentSignIns(): RecentSignIns {
  let over: readonly string[] = []
  /** The newest first. */
  let tokens: readonly (readonly [accessToken: string, id: string])[] = []
  const isOver = (id: string): boolean => over.includes(id)
  return {
    end(id) {
      if (!isOver(id)) over = [...over, id].slice(-maxOver)
    },
    isOver,
    noteToken(accessToken, id) {
      tokens = [[accessToken, id] as const, ...tokens].slice(0, maxTokens)
    },
    ofToken: (accessToken) => tokens.find(([token]) => token === accessToken)?.[1],
  }
}
