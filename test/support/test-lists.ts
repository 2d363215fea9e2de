// Which test files a project of vitest.config.ts runs.

/** Tests in which the database has a part: statements, transactions, their failures, or what the types of a row become. */
export const databaseTests: string[] = [
  'api/access-mistakes',
  'api/create-parent-agent',
  'api/responses',
  'api/search',
  'store/beside-a-writer',
  'store/broken-store',
  'clients/clients-pages',
  'token/codes',
  'authorize/consent',
  'http/cors-lookup',
  'store/data-version',
  'store/earlier-agents',
  'seed/export',
  'store/failed-commit',
  'server/health',
  'api/injection.api',
  'authorize/injection.auth',
  'store/kills',
  'authorize/login-flow',
  'telemetry/metrics',
  'store/migrations',
  'authorize/open-requests',
  'store/purge',
  'token/refresh',
  'store/replace-password',
  'dev/reset',
  'store/revoke-meanwhile',
  'store/search-indexes',
  'seed/seeds',
  'server/several-processes.postgres',
  'sign-in/sign-in',
  'api/tenant-load',
  'store/tenants.random',
  'api/text-order',
  'token/token-lookup',
  'store/trigrams',
  'store/unavailable',
  'store/unavailable.postgres',
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
  'service/test/**/*.browser.test.ts',
]
