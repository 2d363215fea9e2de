// Which test files a project of vitest.config.ts runs.

/** Tests in which the database has a part: statements, transactions, their failures, or what the types of a row become. */
export const databaseTests = [
  'access-change',
  'api-access',
  'api-create',
  'api-responses',
  'api-search',
  'authorize',
  'broken-store',
  'clients-pages',
  'codes',
  'cors-lookup',
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
  'reset',
  'revoke-meanwhile',
  'search-indexes',
  'security-events',
  'seeds',
  'several-processes.postgres',
  'sign-in',
  'tenant-load',
  'tenants.random',
  'text-order',
  'token-endpoint',
  'token-lookup',
  'unavailable',
  'unavailable.postgres',
].map((name) => `service/test/${name}.test.ts`)

/** Rooms of the library whose tests need no other process than their own. */
export const unitTests = [
  'bearer',
  'browser-entry',
  'config',
  'core',
  'mistakes',
  'session',
  'storage',
  'token-endpoint',
].map((room) => `test/${room}/**/*.test.ts`)

/** Pages in Chromium. */
export const pageTests = ['test/browser/**/*.test.ts']

/** The examples as they are started, on frameworks and in whole browsers. */
export const wholeTests = ['test/e2e/**/*.test.ts']
