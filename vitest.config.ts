import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { TestProjectInlineConfiguration, ViteUserConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isMissing, programs, skipsTests } from './test/support/programs.ts'
import { databaseTests, e2eTests, repositoryTests, unitTests } from './test/support/test-lists.ts'

const root = fileURLToPath(new URL('.', import.meta.url))
const path = (relative: string): string => root + relative

const shared: ViteUserConfig = {
  resolve: {
    // Tests run the sources; the packages as built are checked by the demo and by installing the tarball.
    alias: [
      { find: /^agent-auth$/, replacement: path('src/index.ts') },
      { find: /^agent-auth\/([a-z/]+)$/, replacement: path('src/$1/index.ts') },
      { find: /^agent-service$/, replacement: path('service/src/index.ts') },
    ],
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'hono/jsx' } },
  plugins: [
    {
      name: 'compiled-by-tsconfig',
      // What is compiled depends on these settings, which the key of the cache leaves out.
      configureVitest({ experimental_defineCacheKeyGenerator: addToKey }) {
        const folders = ['', 'examples/cli/', 'examples/react-spa/', 'examples/spa/']
        const settings = folders.map((folder) => readFileSync(path(`${folder}tsconfig.json`), 'utf8'))
        addToKey(() => settings.join())
      },
    },
  ],
}

/**
 * Places each file that says `@module-tag slow` before five others of its project, from the first file on. Such a file mostly waits,
 * so a worker that has one leaves the cores to the others. If all slow files came first, all workers would wait at the same time. If
 * they came last, the run would wait for them. Files with another environment come last, because a worker ends when the environment
 * changes.
 */
class SlowAmongOthers extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const sources = new Map(sorted.map((file) => [file, readFileSync(file.moduleId, 'utf8')]))
    return [...new Set(sorted.map(({ project }) => project))].flatMap((project) => {
      const own = sorted.filter((file) => file.project === project)
      const ranked = own.toSorted((one, other) => environmentOf(one).localeCompare(environmentOf(other)))
      const slow = ranked.filter(isSlow)
      const others = ranked.filter((file) => !isSlow(file))
      const begin = slow.flatMap((file, index) => [file, ...others.slice(5 * index, 5 * index + 5)])
      return [...begin, ...others.slice(5 * slow.length)]
    })

    function isSlow(file: TestSpecification): boolean {
      return /^\/\/ @module-tag slow$/m.test(sources.get(file) ?? '')
    }
    function environmentOf(file: TestSpecification): string {
      return /^\/\/ @vitest-environment (\S+)$/m.exec(sources.get(file) ?? '')?.[1] ?? ''
    }
  }
}

/**
 * Keeps two cores busy beside files that wait for leases, deadlines and other processes. With four, the cores are idle for a
 * fifth of a run. More load the sources more often. `npm run test:unit` has one for each core, because no file of it waits.
 */
const maxWorkers = 6

/**
 * A worker runs most code only a few times. So V8 collects young objects less often and, on Node 20, optimizes a function
 * later. Together that takes a tenth less processor time. The V8 of later versions does not have the second option.
 */
const optimizesLate = Number.parseInt(process.versions.node, 10) < 22 ? ['--interrupt-budget=1000000'] : []
const execArgv = ['--max-semi-space-size=32', ...optimizesLate]

const config: ViteUserConfig = {
  test: {
    maxWorkers,
    globalSetup: ['test/support/missing-programs.ts', 'test/support/packages-of-a-run.ts', 'test/support/servers.ts'],
    // Tests of a program that is missing are skipped; where CI is set they run, and fail, unless the program is optional there.
    tags: [
      ...programs.flatMap((program) =>
        program.tag ? [{ name: program.tag, skip: isMissing(program) && skipsTests(program) }] : [],
      ),
      { name: 'database' },
      { name: 'postgres' },
      { name: 'slow' },
    ],
    projects: [
      project('unit', { include: unitTests }),
      project('repository', { include: repositoryTests }),
      // Also a folder that no list names.
      project('library', {
        include: ['test/**/*.test.ts'],
        exclude: ['**/node_modules/**', ...unitTests, ...repositoryTests, ...e2eTests],
      }),
      project('e2e', { include: e2eTests }),
      project('libsql', {
        include: ['service/test/**/*.test.ts'],
        exclude: ['**/*.postgres.test.ts', ...e2eTests],
      }),
      // Each service on a PostgreSQL database of its own.
      project('postgres', { include: databaseTests }),
    ],
    // What is compiled for one project serves the others and the next run.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: SlowAmongOthers },
    // What `npm run coverage` prints, also if a test fails. Pages in a browser and processes of their own are not counted.
    coverage: {
      // That of V8, from the packages of the tests.
      provider: 'custom',
      customProviderModule: path('test/node_modules/@vitest/coverage-v8/dist/index.js'),
      include: ['src/**'],
      exclude: ['service/**', 'examples/**'],
      reporter: ['text'],
      reportOnFailure: true,
      reportsDirectory: 'node_modules/.cache/coverage',
    },
    // Pages are bundled from these, which no import of a test shows.
    forceRerunTriggers: ['**/vitest.config.*/**', '**/package.json/**', '**/src/{browser,react,backend/client}/**'],
  },
}

interface ProjectSettings {
  include: string[]
  exclude?: string[]
}

/** Without isolation a worker loads the sources once and not for each file: nothing is kept in modules. */
function project(
  name: 'unit' | 'repository' | 'library' | 'e2e' | 'libsql' | 'postgres',
  { include, exclude = [] }: ProjectSettings,
): TestProjectInlineConfiguration {
  return {
    ...shared,
    test: {
      name,
      environment: 'node',
      include,
      exclude,
      isolate: false,
      // agent-service names itself in the way that npm started it.
      env: { npm_lifecycle_event: '' },
      // A process of its own: its processor time is that of the test that runs in it.
      pool: 'forks',
      execArgv,
      provide: { serviceDatabase: name === 'postgres' ? 'postgres' : 'libsql' },
      setupFiles: [
        'test/support/canary-setup.ts',
        'test/support/stop-at-failure.ts',
        'test/support/fixed-seeds.ts',
        'test/support/leave-async-contexts.ts',
        'test/support/globals-left.ts',
        ...(name === 'e2e' ? ['test/support/browser-failures.ts'] : []),
      ],
      // These end what hangs. No test waits for more than 15 s, on a machine that may have ten times as much to do.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      expect: { poll: { timeout: 60_000 } },
    },
  }
}

export default config
