// @module-tag chromium

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folders = ['closed_by_a_hook', 'never_closed', 'passes'].map((name) => ({
  name,
  path: join(root, 'node_modules/.cache/browser-failures', `failing.fixture.ts_${name}`),
}))

/** Runs the tests of test/support/browser-fixture, two of which fail. Returns what the run printed on its error output. */
function runFixture(): Promise<string> {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--root', 'test/support/browser-fixture']
  return new Promise((resolve) => execFile(process.execPath, args, { cwd: root }, (_, __, stderr) => resolve(stderr)))
}

test('a test that fails leaves a trace, a picture and the console of each page, and one that passes nothing', async () => {
  const remove = () => Promise.all(folders.map(({ path }) => rm(path, { recursive: true, force: true })))
  await remove()
  onTestFinished(async () => void (await remove()))
  const stderr = await runFixture()
  const [hook, none, passed] = folders.map(({ path }) => path) as [string, string, string]
  expect(existsSync(passed)).toBe(false)
  for (const [folder, texts] of [
    [none, ['none']],
    // The context of the first test is still open, and its trace began anew.
    [hook, ['none', 'one', 'two']],
  ] as const) {
    expect(stderr).toContain(`what the browser showed is in ${folder}\n`)
    const contexts = readdirSync(folder).map((name) => join(folder, name))
    const consoles = contexts.map((context) => readFileSync(join(context, 'console.txt'), 'utf8'))
    expect(consoles).toEqual(texts.map((text) => `info: said by ${text}\n`))
    for (const context of contexts) {
      expect(readFileSync(join(context, 'page-1.png')).subarray(1, 4).toString()).toBe('PNG')
      // A zip file, in which the names of its files are text.
      expect(readFileSync(join(context, 'trace.zip')).toString('latin1')).toContain('trace.trace')
    }
  }
})
