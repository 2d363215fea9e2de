import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hasItsPackages } from '../scripts/own-packages.ts'

interface Entry {
  readonly version: string
  readonly optional?: true
}

/** A folder with this lock file, in which npm installed those packages. */
function folderWith(locked: Record<string, Entry>, installed?: Record<string, Entry>): string {
  const folder = mkdtempSync(join(tmpdir(), 'own-packages-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const write = (file: string, packages: object): void =>
    writeFileSync(join(folder, file), JSON.stringify({ packages }))
  write('package-lock.json', { '': { name: 'own' }, ...locked })
  mkdirSync(join(folder, 'node_modules'))
  if (installed) write('node_modules/.package-lock.json', installed)
  return folder
}

const a = { 'node_modules/a': { version: '1.0.0' } }
const elsewhere = { 'node_modules/a-for-another-platform': { version: '1.0.0', optional: true } } as const

test('packages of a folder are installed once, without those for other platforms', () => {
  expect(hasItsPackages(folderWith({ ...a, ...elsewhere }, a))).toBe(true)
})

test('packages of a folder are installed again if a version differs, one is missing or none was installed', () => {
  const newer = { 'node_modules/a': { version: '1.0.1' } }
  const more = { ...a, 'node_modules/b': { version: '1.0.0' } }
  expect([newer, more].map((locked) => hasItsPackages(folderWith(locked, a)))).toEqual([false, false])
  expect(hasItsPackages(folderWith(a))).toBe(false)
})
