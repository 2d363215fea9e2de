import { fileURLToPath } from 'node:url'
import type { TestProjectInlineConfiguration, ViteUserConfig } from 'vitest/config'

const root = fileURLToPath(new URL('.', import.meta.url))
const path = (relative: string): string => root + relative

const shared: ViteUserConfig = {
  resolve: {
    // Tests run the sources; the packages as built are checked by the demo and by installing the tarball.
    alias: [
      { find: /^agent-auth$/, replacement: path('src/index.ts') },
      { find: /^agent-auth\/([a-z]+)$/, replacement: path('src/$1/index.ts') },
      { find: /^agent-service$/, replacement: path('service/src/index.ts') },
    ],
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'hono/jsx' } },
}

const databaseFree = [
  'assumptions',
  'cli',
  'journal',
  'pages.browser',
  'readme',
  'slow-clients',
  'start',
  'timing',
].map((name) => `service/test/${name}.test.ts`)

const config: ViteUserConfig = {
  test: {
    globalSetup: ['test/support/servers.ts'],
    projects: [
      project('libsql', ['test/**/*.test.ts', 'service/test/**/*.test.{ts,tsx}']),
      // The service's tests once more, each service on a PostgreSQL database of its own; not those in which no database has a part.
      project('postgres', ['service/test/**/*.test.{ts,tsx}'], databaseFree),
    ],
    // Much of the time goes by waiting for leases, deadlines and other processes.
    maxWorkers: 4,
  },
}

function project(
  database: 'libsql' | 'postgres',
  include: string[],
  exclude: string[] = [],
): TestProjectInlineConfiguration {
  return {
    ...shared,
    test: {
      name: database,
      environment: 'node',
      include,
      exclude,
      provide: { serviceDatabase: database },
      setupFiles: ['test/support/canary-setup.ts'],
      // A test waits for sockets and deadlines of at most 15 s; property tests raise it where they need to.
      testTimeout: 20_000,
      hookTimeout: 20_000,
    },
  }
}

export default config
