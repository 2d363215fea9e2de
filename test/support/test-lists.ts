import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// Which test files a project of vitest.config.ts runs.

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Tests in which the database has a part. They say so in a line at their top, `// @module-tag database`, and run on both databases. */
export const databaseTests: string[] = readdirSync(`${root}service/test`, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .map((file) => `service/test/${file}`)
  .filter((file) => /^\/\/ @module-tag database$/m.test(readFileSync(root + file, 'utf8')))

/** Rooms of the library whose tests need no other process than their own. */
export const unitTests: string[] = [
  'bearer',
  'browser-entry',
  'config',
  'core',
  'mistakes',
  'session',
  'storage',
  'token-endpoint',
].map((room) => `test/${room}/**/*.test.ts`)

/** What `npm run check` runs: tests that compare texts and types of the repository. */
export const repositoryTests: string[] = [
  'test/api/types.test.ts',
  ...['architecture', 'docs.site', 'docs', 'public-types', 'readme'].map((name) => `test/${name}.test.ts`),
]

/** What `npm run test:e2e` runs: all tests in Chromium, and those that start or copy the examples. */
export const e2eTests: string[] = [
  'test/browser/**/*.test.ts',
  'test/e2e/**/*.test.ts',
  'test/foreign-projects.test.ts',
  'service/test/**/*.browser.test.ts',
]
