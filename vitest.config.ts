import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { TestProjectInlineConfiguration, ViteUserConfigFnObject } from 'vitest/config'
import { isMissing, programs, skipsTests } from './test/support/programs.ts'

const root = fileURLToPath(new URL('.', import.meta.url))

/** The loop, `--mode unit`: rooms of the library that need no other process, without the tests that start the service or take long. */
const unitTests = ['bearer', 'browser-entry', 'config', 'core', 'mistakes', 'session', 'storage', 'token-endpoint'].map(
  (room) => `test/${room}/**/!(claims|callbacks|*.sockets|session.interleavings).test.ts`,
)

/** The examples and the pages of frameworks, which take time to build. */
const e2eTests = ['test/e2e/**/*.test.ts']

const serviceTests = 'service/test/**/*.test.ts'

/** The test files with this line at their top. */
function testsWith(folder: string, line: RegExp): string[] {
  return readdirSync(root + folder, { recursive: true, encoding: 'utf8' })
    .map((file) => `${folder}/${file}`)
    .filter((file) => file.endsWith('.test.ts') && !file.includes('node_modules'))
    .filter((file) => line.test(readFileSync(root + file, 'utf8')))
}

/** Tests in which the database has a part run on both. */
const databaseTests = testsWith('service/test', /^\/\/ @module-tag database$/m)

/** Tests in jsdom and happy-dom, of which one worker loads each once. */
const domTests = testsWith('test', /^\/\/ @vitest-environment /)

const config: ViteUserConfigFnObject = ({ mode }) => ({
  test: {
    // More than the cores, because many files wait for leases, deadlines and other processes.
    maxWorkers: 4,
    // What was transformed serves every project, and the next run.
    experimental: { fsModuleCache: true },
    globalSetup: ['test/support/missing-programs.ts', 'test/support/servers.ts'],
    // Tests of a program that is missing are skipped. Where CI is set they run, and fail, unless the program is optional there.
    tags: [
      ...programs.flatMap((program) =>
        program.tag ? [{ name: program.tag, skip: isMissing(program) && skipsTests(program) }] : [],
      ),
      { name: 'database' },
      { name: 'postgres' },
    ],
    projects: [
      // The service on libSQL is in the project of the library, because workers that load its sources serve both.
      project('main', {
        include: mode === 'unit' ? unitTests : ['test/**/*.test.ts', serviceTests],
        exclude: [...e2eTests, ...domTests],
      }),
      project('dom', { include: domTests }),
      // Each service on a PostgreSQL database of its own.
      project('postgres', { include: databaseTests }),
      project('e2e', { include: e2eTests }),
    ],
  },
})

function project(
  name: 'main' | 'dom' | 'postgres' | 'e2e',
  { include, exclude = [] }: { include: string[]; exclude?: string[] },
): TestProjectInlineConfiguration {
  return {
    resolve: {
      // Tests run the sources. The demo and test:consumers run the packages as built.
      alias: [
        { find: /^agent-auth$/, replacement: `${root}src/index.ts` },
        { find: /^agent-auth\/([a-z/]+)$/, replacement: `${root}src/$1/index.ts` },
        { find: /^agent-service$/, replacement: `${root}service/src/index.ts` },
      ],
    },
    oxc: { jsx: { runtime: 'automatic', importSource: 'hono/jsx' } },
    test: {
      name,
      include,
      exclude: ['**/node_modules/**', ...exclude],
      globalSetup: name === 'e2e' ? ['test/support/app-packages.ts'] : [],
      // A worker loads the sources once and not for each file, which halves its work. Nothing is kept in modules.
      isolate: false,
      pool: 'forks',
      ...(name === 'dom' && { maxWorkers: 1, sequence: { groupOrder: 1 } }),
      // agent-service names itself in the way that npm started it.
      env: { npm_lifecycle_event: '' },
      provide: { serviceDatabase: name === 'postgres' ? 'postgres' : 'libsql' },
      setupFiles: ['canary-setup', 'fixed-seeds', 'browser-failures'].map((file) => `test/support/${file}.ts`),
      // These end what hangs, on a machine that may have ten times as much to do.
      testTimeout: 180_000,
      hookTimeout: 180_000,
      expect: { poll: { timeout: 60_000 } },
    },
  }
}

export default config
