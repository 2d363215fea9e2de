import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isNewer } from '../scripts/is-newer.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-auth-newer-'))
  mkdirSync(join(folder, 'src/deep'), { recursive: true })
  for (const name of ['src/deep/a.ts', 'one.js', 'two.js']) writeFileSync(join(folder, name), '')
  for (const name of ['src/deep/a.ts', 'src/deep', 'src']) at(name, 100)
  for (const name of ['one.js', 'two.js']) at(name, 200)
})
afterEach(() => rmSync(folder, { recursive: true }))

function at(name: string, seconds: number): void {
  utimesSync(join(folder, name), seconds, seconds)
}

function isUpToDate(...made: string[]): boolean {
  return isNewer(
    made.map((name) => join(folder, name)),
    [join(folder, 'src')],
  )
}

test('what was made after its source is up to date', () => {
  expect(isUpToDate('one.js', 'two.js')).toBe(true)
})

test.each([
  ['a file of the source changed', () => at('src/deep/a.ts', 300)],
  ['a file came or went, which changes the folder', () => at('src/deep', 300)],
  ['one of the files is older', () => at('two.js', 50)],
  ['both are of one moment', () => at('two.js', 100)],
  ['one of the files is gone', () => rmSync(join(folder, 'two.js'))],
])('%s: it is made again', (_, change) => {
  change()
  expect(isUpToDate('one.js', 'two.js')).toBe(false)
})
