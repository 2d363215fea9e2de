// @module-tag chromium

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const failures = join(root, 'node_modules/.cache/browser-failures')

/** The folders of these tests, each of which ends with an id. */
function foldersOf(test: string): string[] {
  const names = existsSync(failures) ? readdirSync(failures) : []
  return names.filter((name) => name.startsWith(`failing.fixture.ts_${test}`)).map((name) => join(failures, name))
}

/** Runs the tests of test/support/browser-fixture, three of which fail. Returns what the run printed on its error output. */
function runFixture(): Promise<string> {
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--root', 'test/support/browser-fixture']
  return new Promise((resolve) => execFile(process.execPath, args, { cwd: root }, (_, __, stderr) => resolve(stderr)))
}

test('a failed test leaves a trace, a picture and the console of each page, and a passed test leaves nothing', async () => {
  const remove = async (): Promise<void> => {
    for (const folder of foldersOf('')) await rm(folder, { recursive: true })
  }
  await remove()
  onTestFinished(remove)
  const stderr = await runFixture()
  const [none, hook, late, passed] = ['never_closed', 'closed_by_a_hook', 'a_hook_fails', 'passes'].map(foldersOf)
  expect(passed).toEqual([])
  for (const [[folder = ''] = [], ...texts] of [
    [none, 'none'],
    [hook, 'one', 'two'],
    [late, 'three'],
  ] as const) {
    expect(stderr).toContain(`what the browser showed is in ${folder}\n`)
    const contexts = readdirSync(folder).map((name) => join(folder, name))
    const consoles = contexts.map((context) => readFileSync(join(context, 'console.txt'), 'utf8'))
    // The context of the first test stays open. Its recording has started again.
    expect(consoles.filter((text) => text !== '')).toEqual(texts.map((text) => `info: said by ${text}\n`))
    for (const context of contexts) {
      expect(readFileSync(join(context, 'page-1.png')).subarray(1, 4).toString()).toBe('PNG')
      // A zip file, in which the names of its files are text.
      expect(readFileSync(join(context, 'trace.zip')).toString('latin1')).toContain('trace.trace')
    }
  }
})
