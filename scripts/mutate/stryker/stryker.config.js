import { fileURLToPath } from 'node:url'

/** Settings of Stryker for `npm run mutate`, which adds the files to change, the tests and the report of each room. */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner', fileURLToPath(new URL('./sentences.js', import.meta.url))],
  // Messages are for people, and tests compare codes. A message that matters has a test of its own.
  ignorers: ['sentences'],
  vitest: { configFile: 'scripts/mutate/stryker/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  disableTypeChecks: false,
  concurrency: 2,
  // A time-out counts as noticed, so that on a busy machine a short one would make the score too good.
  timeoutMS: 60_000,
  timeoutFactor: 3,
  dryRunTimeoutMinutes: 30,
  reporters: ['clear-text', 'progress-append-only'],
  clearTextReporter: { logTests: false, reportTests: false },
  tempDirName: 'coverage/mutation/sandbox',
  cleanTempDir: 'always',
}
