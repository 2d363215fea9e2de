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

export function recentSignIns(): RecentSignIns {
  const over = new Set<string>()
  const tokens = new Map<string | undefined, string>()
  return {
    end(id) {
      over.add(id)
      dropOldest(over, maxOver)
    },
    isOver: (id) => over.has(id),
    noteToken(accessToken, id) {
      tokens.set(accessToken, id)
      dropOldest(tokens, maxTokens)
    },
    ofToken: (accessToken) => tokens.get(accessToken),
  }
}

function dropOldest<K>(kept: { size: number; keys(): Iterable<K>; delete(key: K): boolean }, max: number): void {
  for (const oldest of kept.keys()) if (kept.size > max) kept.delete(oldest)
}
