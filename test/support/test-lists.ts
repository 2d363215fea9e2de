// Which test files a project of vitest.config.ts runs.

/** Tests in which the database has a part: statements, transactions, their failures, or what the types of a row become. */
export const databaseTests: string[] = [
  'access-mistakes',
  'api-create',
  'api-responses',
  'api-search',
  'beside-a-writer',
  'broken-store',
  'clients-pages',
  'codes',
  'consent',
  'cors-lookup',
  'data-version',
  'earlier-agents',
  'export',
  'failed-commit',
  'health',
  'injection.api',
  'injection.auth',
  'kills',
  'login-flow',
  'metrics',
  'migrations',
  'open-requests',
  'purge',
  'refresh',
  'replace-password',
  'reset',
  'revoke-meanwhile',
  'search-indexes',
  'seeds',
  'several-processes.postgres',
  'sign-in',
  'tenant-load',
  'tenants.random',
  'text-order',
  'token-lookup',
  'trigrams',
  'unavailable',
  'unavailable.postgres',
].map((name) => `service/test/${name}.test.ts`)

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
  ...['api-page', 'pages'].map((name) => `service/test/${name}.browser.test.ts`),
]
