import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { TestProjectInlineConfiguration, ViteUserConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { isMissing, programs, skipsTests } from './test/support/programs.ts'
import { databaseTests, pageTests, unitTests, wholeTests } from './test/support/test-lists.ts'

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
 * Begins each project with the files that say `@module-tag slow`: their waiting goes by beside the others' work. A worker ends
 * when the next file belongs to another project, so the files of one project stay together.
 */
class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSlow = ({ moduleId }: TestSpecification): boolean =>
      /^\/\/ @module-tag slow$/m.test(readFileSync(moduleId, 'utf8'))
    const slow = new Set(files.filter(isSlow))
    const sorted = await super.sort(files)
    return [...new Set(sorted.map(({ project }) => project))].flatMap((project) => {
      const own = sorted.filter((file) => file.project === project)
      return [...own.filter((file) => slow.has(file)), ...own.filter((file) => !slow.has(file))]
    })
  }
}

const config: ViteUserConfig = {
  test: {
    globalSetup: ['test/support/missing-programs.ts', 'test/support/packages-of-a-run.ts', 'test/support/servers.ts'],
    // Tests of a program that is missing are skipped; where CI is set they run, and fail, unless the program is optional there.
    tags: [
      ...programs.flatMap((program) =>
        program.tag ? [{ name: program.tag, skip: isMissing(program) && skipsTests(program) }] : [],
      ),
      { name: 'postgres' },
      { name: 'slow' },
    ],
    projects: [
      project('unit', { include: unitTests, order: 0, maxWorkers: 3 }),
      // Also a folder that no list names. Much of its time goes by waiting for leases, deadlines and other processes.
      project('library', {
        include: ['test/**/*.test.ts'],
        exclude: ['**/node_modules/**', ...unitTests, ...pageTests, ...wholeTests],
        order: 1,
        maxWorkers: 6,
      }),
      project('browser', { include: pageTests, exclude: wholeTests, order: 2, maxWorkers: 3 }),
      project('e2e', { include: wholeTests, order: 3, maxWorkers: 6 }),
      project('libsql', {
        include: ['service/test/**/*.test.ts'],
        exclude: ['**/*.postgres.test.ts', ...wholeTests],
        order: 4,
        maxWorkers: 3,
      }),
      // Each service on a PostgreSQL database of its own.
      project('postgres', { include: databaseTests, order: 5, maxWorkers: 3 }),
    ],
    // What is compiled for one project serves the others and the next run.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: SlowFirst },
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
    forceRerunTriggers: ['**/vitest.config.*/**', '**/package.json/**', '**/src/{browser,react}/**'],
  },
}

interface ProjectSettings {
  include: string[]
  exclude?: string[]
  /** Projects with another number of workers run one after the other. */
  order: number
  /** Three keep two cores busy. More of them load the sources more often, which pays only for files that mostly wait. */
  maxWorkers: number
}

/** Without isolation a worker loads the sources once and not for each file: nothing is kept in modules. */
function project(
  name: 'unit' | 'library' | 'browser' | 'e2e' | 'libsql' | 'postgres',
  { include, exclude = [], order, maxWorkers }: ProjectSettings,
): TestProjectInlineConfiguration {
  return {
    ...shared,
    test: {
      name,
      environment: 'node',
      include,
      exclude,
      isolate: false,
      maxWorkers,
      sequence: { groupOrder: order },
      // agent-service names itself in the way that npm started it.
      env: { npm_lifecycle_event: '' },
      // A process of its own: its processor time is that of the test that runs in it.
      pool: 'forks',
      provide: { serviceDatabase: name === 'postgres' ? 'postgres' : 'libsql' },
      setupFiles: [
        'test/support/canary-setup.ts',
        'test/support/stop-at-failure.ts',
        'test/support/fixed-seeds.ts',
        'test/support/leave-async-contexts.ts',
        'test/support/globals-left.ts',
      ],
      // These end what hangs. No test waits for more than 15 s, on a machine that may have ten times as much to do.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      expect: { poll: { timeout: 60_000 } },
    },
  }
}

export default config
