/** One long run. `run` returns what it measured in a few words, and throws when its claim did not hold. */
export interface Soak {
  name: string
  says: string
  rounds: number
  run(size: { rounds: number; onRound: (round: number) => void }): Promise<string>
}

/** What `npm run soak` knows. A new long run is one more line here; what it needs is loaded when it runs. */
export const soaks: readonly Soak[] = [
  {
    name: 'kills-libsql',
    says: 'P-09 S-089 SIGKILLs under load on a data file',
    rounds: 500,
    run: async (size) => (await import('./kills.ts')).soakKills('libsql', size),
  },
  {
    name: 'kills-postgres',
    says: 'P-09 S-089 SIGKILLs under load on PostgreSQL',
    rounds: 500,
    run: async (size) => (await import('./kills.ts')).soakKills('postgres', size),
  },
  {
    name: 'redemptions',
    says: 'P-11 S-027 50 parallel redemptions, three processes',
    rounds: 1_000,
    run: async (size) => (await import('./redemptions.ts')).soakRedemptions(size),
  },
  {
    name: 'timings',
    says: 'S-020 S-044 unknown names and wrong secrets take the same time',
    rounds: 2_000,
    run: async (size) => (await import('./timings.ts')).soakTimings(size),
  },
]
