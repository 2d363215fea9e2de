import { fileURLToPath } from 'node:url'
import type { TestProjectInlineConfiguration, ViteUserConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isMissing, programs } from './test/support/programs.ts'

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

/** Files that wait much: begun first, their waiting goes by beside the others' work. */
const slow = [
  'service/test/kills',
  'test/storages.redis',
  'test/browser/examples',
  'test/storages.holders',
  'test/storages.storm',
  'test/browser/tabs',
  'test/browser/node-backend',
  'test/storages.postgres',
  'test/backend.processes',
  'test/browser/login',
  'test/node-backend.adapters',
  'service/test/tenants.random',
  'service/test/pages.browser',
].map((name) => path(`${name}.test.ts`))

class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => slow.indexOf(moduleId) + 1 || slow.length + 1
    return (await super.sort(files)).sort((one, other) => place(one) - place(other))
  }
}

const serviceTests = ['service/test/**/*.test.ts']
const databaseFree = [
  'assumptions',
  'basic',
  'cli',
  'connections',
  'database-failure',
  'filters',
  'form',
  'journal',
  'caller-limits',
  'package',
  'json',
  'limits',
  'pages.browser',
  'query',
  'readme',
  'hash-line',
  'sign-in-flood',
  'served-app',
  'slow-clients',
  'start',
  'tenant-turns',
  'throttle',
  'timing',
].map((name) => `service/test/${name}.test.ts`)

const config: ViteUserConfig = {
  test: {
    globalSetup: ['test/support/missing-programs.ts', 'test/support/servers.ts'],
    // Tests of a program that is missing are skipped; where CI is set they run, and fail.
    tags: [
      ...programs.flatMap((program) =>
        program.tag ? [{ name: program.tag, skip: isMissing(program) && !process.env.CI }] : [],
      ),
      { name: 'postgres' },
    ],
    projects: [
      project('library', { include: ['test/*.test.ts'], isolate: false }),
      project('browser', { include: ['test/browser/*.test.ts'], isolate: false }),
      project('libsql', { include: serviceTests, exclude: ['**/*.postgres.test.ts'], isolate: false }),
      // The same once more, each service on a PostgreSQL database of its own; not those in which no database has a part.
      project('postgres', {
        include: serviceTests,
        exclude: [...databaseFree, '**/*.libsql.test.ts'],
        isolate: false,
      }),
    ],
    // Much of the time goes by waiting for leases, deadlines and other processes.
    maxWorkers: 4,
    sequence: { sequencer: SlowFirst },
  },
}

/** Without isolation a worker loads the sources once and not for each file: nothing is kept in modules. */
function project(
  name: 'library' | 'browser' | 'libsql' | 'postgres',
  { include, exclude = [], isolate = true }: { include: string[]; exclude?: string[]; isolate?: boolean },
): TestProjectInlineConfiguration {
  return {
    ...shared,
    test: {
      name,
      environment: 'node',
      include,
      exclude,
      isolate,
      // Of those started anew for each file, threads are the quicker ones.
      pool: isolate ? 'threads' : 'forks',
      provide: { serviceDatabase: name === 'postgres' ? 'postgres' : 'libsql' },
      setupFiles: ['test/support/canary-setup.ts', 'test/support/stop-at-failure.ts', 'test/support/fixed-seeds.ts'],
      // These end what hangs. No test waits for more than 15 s, on a machine that may have ten times as much to do.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      expect: { poll: { timeout: 60_000 } },
    },
  }
}

export default config
