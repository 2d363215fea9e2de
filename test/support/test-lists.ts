// Which test files a project of vitest.config.ts runs.

/** Tests in which the database has a part: statements, transactions, their failures, or what the types of a row become. */
export const databaseTests: string[] = [
  'access-change',
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
  'secret-guesses',
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

/** Pages in Chromium, but for those of `wholeTests`. */
export const pageTests: string[] = ['test/browser/**/*.test.ts']

/** The examples as they are started or copied into another project, pages on frameworks, whole browsers, and the pages of the service. */
export const wholeTests: string[] = [
  'test/e2e/**/*.test.ts',
  ...['back-forward', 'backend-client', 'popup-blocked'].map((name) => `test/browser/${name}.test.ts`),
  ...['prerender', 'react', 'react-hydration', 'require-session', 'routers'].map(
    (name) => `test/browser/${name}.test.ts`,
  ),
  'test/foreign-projects.test.ts',
  ...['api-page', 'pages'].map((name) => `service/test/${name}.browser.test.ts`),
]
