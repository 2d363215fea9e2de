import type { LongTests } from './tests.ts'

/** One long run. `run` returns what it measured in a few words, and throws when its claim did not hold. */
export interface Soak {
  name: string
  says: string
  rounds: number
  /** Where it runs ordinary tests: their files. */
  files?: readonly string[]
  run(size: SoakSize): Promise<string>
}

export interface SoakSize {
  readonly rounds: number
  /** Is told how many rounds are done, and of how many where that is not `rounds`. */
  readonly onRound: (round: number, of?: number) => void
  /** Prints what one part of the run has shown, as soon as it ends. */
  readonly onPart?: ((says: string) => void) | undefined
  /** Of a soak of histories: strikes alone. Default: each that there is. */
  readonly nemesis?: string | undefined
  /** Of a soak of histories: repeats its choices. Default: drawn, and printed. */
  readonly seed?: string | undefined
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
  {
    name: 'storms-redis',
    says: 'P-04 4 processes x 100 requests x 20 sessions at expiry, on Redis',
    rounds: 200,
    run: async (size) => (await import('./storms.ts')).soakStorms('redis', size),
  },
  {
    name: 'storms-postgres',
    says: 'P-04 the same on PostgreSQL',
    rounds: 200,
    run: async (size) => (await import('./storms.ts')).soakStorms('postgres', size),
  },
  {
    name: 'storms-cluster',
    says: 'C-069 the same on one Redis and on a Redis Cluster, with the throughput of both',
    rounds: 20,
    run: async (size) => (await import('./storms.ts')).soakClusterStorms(size),
  },
  {
    name: 'storms-file',
    says: 'P-03 8 processes x 50 requests at expiry, on one file',
    rounds: 500,
    run: async (size) => (await import('./file-storms.ts')).soakFileStorms(size),
  },
  {
    name: 'histories',
    says: 'C-071 calls of 8 processes while nemeses strike, on Redis and PostgreSQL: a checker judges each history',
    rounds: 100_000,
    run: async (size) => (await import('./histories/soak.ts')).soakHistories(size),
  },
  {
    name: 'cluster',
    says: 'C-071 the same on a Redis Cluster that fails over, and on PostgreSQL with a standby that is promoted',
    rounds: 100_000,
    run: async (size) => (await import('./histories/soak.ts')).soakCluster(size),
  },
  {
    name: 'kills-file',
    says: 'P-07 SIGKILLs of a process that refreshes, on one file',
    rounds: 5_000,
    run: async (size) => (await import('./file-storms.ts')).soakFileKills('grace', size),
  },
  {
    name: 'kills-no-grace',
    says: 'P-08 the same at a service without a grace period, which prints the rate of lost sessions',
    rounds: 5_000,
    run: async (size) => (await import('./file-storms.ts')).soakFileKills('no grace', size),
  },
  {
    name: 'tabs',
    says: 'P-02 10 tabs x 20 requests in Chromium at expiry: asleep, then reopened',
    rounds: 500,
    run: async (size) => (await import('./tabs.ts')).soakTabs(10, size),
  },
  {
    name: 'tabs-100',
    says: 'C-070 100 tabs x 20 requests in Chromium at expiry: asleep, then reopened',
    rounds: 20,
    run: async (size) => (await import('./tabs.ts')).soakTabs(100, size),
  },
  tests('callers', 'P-01 1,000 callers with an expired token, seeds', 1_000, ['test/session/refresh.test.ts']),
  tests('callbacks', 'P-05 one callback 50 times at once, seeds', 1_000, ['test/core/pending-logins.test.ts']),
  tests('interleavings', 'P-06 random histories of a session', 100_000, ['test/session/session.interleavings.test.ts']),
  tests('lost-answers', 'P-10 histories of lost refresh answers', 10_000, ['test/session/refresh-retries.test.ts']),
  tests('parsers', 'P-12 random input of each parser', 1_000_000, [
    'test/core/callback.refusals.test.ts',
    'test/token-endpoint/response.bodies.test.ts',
    'test/bearer/challenge.test.ts',
    'test/session/record.test.ts',
    'test/core/pending-logins.test.ts',
    'test/token-endpoint/token-endpoint.retry-after.test.ts',
    'test/storage/jwe.test.ts',
    'test/backend/read-cookies.test.ts',
    'test/backend/routes.test.ts',
    'service/test/token/basic.test.ts',
    'service/test/http/query.test.ts',
    'service/test/http/form.test.ts',
    'service/test/http/json.test.ts',
    'service/test/api/filters.test.ts',
    'service/test/redirect-uris.test.ts',
  ]),
  tests('addresses', 'P-14 addresses made of URLs of the API and hostile parts', 100_000, [
    'test/bearer/targets.origins.test.ts',
  ]),
  tests('outages', 'P-17 ten minutes of outage, four kinds; a browser that comes online', 20, [
    'test/session/refresh-retries.test.ts',
    'test/browser/bad-days.test.ts',
  ]),
  tests('logins', 'C-001 logins without a repeated verifier or state', 100_000, ['test/core/authorize.test.ts']),
  tests('slow-clients', 'S-085 200 calls beside 500 slow clients', 20, ['service/test/server/slow-clients.test.ts']),
  tests('bombs', 'P-18 answers of 200 MB, five at a time', 10, ['test/processes/token-endpoint.sockets.test.ts']),
  tests('tabs-frozen', 'C-072 a tab that is frozen while it has the lock, and goes on', 50, [
    'test/browser/tabs.lifecycle.test.ts',
  ]),
  tests('sign-outs', 'P-19 a sign-out seen in 10 tabs, three storages', 200, ['test/browser/tabs.test.ts']),
  tests('tenants', 'P-20 random operations of five tenants', 100_000, ['service/test/store/tenants.random.test.ts']),
  tests('injections', 'P-21 hostile texts in each field of the pages and the token endpoint', 500, [
    'service/test/authorize/injection.auth.test.ts',
  ]),
]

/** Long sizes that nothing here runs, and why. */
export const missing: Readonly<Record<string, string>> = {}

/** Ordinary tests with a long size, found by the row that `says` begins with. */
function tests(name: string, says: string, rounds: number, files: LongTests['files']): Soak {
  const row = says.slice(0, says.indexOf(' '))
  return {
    name,
    says,
    rounds,
    files,
    run: async (size) =>
      (await import('./tests.ts')).soakTests({ row, files }, { share: size.rounds / rounds, onRound: size.onRound }),
  }
}
