import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { hasItsPackages } from '../scripts/own-packages.ts'

interface Entry {
  readonly version: string
  readonly optional?: true
  readonly os?: readonly string[]
  readonly cpu?: readonly string[]
  readonly engines?: { readonly node: string }
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
const optional = { version: '1.0.0', optional: true } as const

test.each<[string, Partial<Entry>]>([
  ['another operating system', { os: ['another'] }],
  ['every operating system but this', { os: [`!${process.platform}`] }],
  ['another processor', { os: [process.platform], cpu: ['another'] }],
  ['another version of Node', { os: [process.platform], engines: { node: '^1.2 || ^3.4' } }],
  ['a later version of Node', { os: [process.platform], engines: { node: '>=1000' } }],
  ['what another optional package needs', {}],
])('packages count as installed without an optional one for %s', (_, entry) => {
  expect(hasItsPackages(folderWith({ ...a, 'node_modules/b': { ...optional, ...entry } }, a))).toBe(true)
})

test.each<Partial<Entry>>([
  { os: [process.platform], cpu: [process.arch] },
  { os: [process.platform], engines: { node: '>=16' } },
  { os: ['!another'] },
  { cpu: ['another', process.arch] },
])('packages count as not installed if an optional one with %j is missing', (entry) => {
  expect(hasItsPackages(folderWith({ ...a, 'node_modules/b': { ...optional, ...entry } }, a))).toBe(false)
})

test('packages count as not installed if a version differs, one is missing or one too many, or none was installed', () => {
  const newer = { 'node_modules/a': { version: '1.0.1' } }
  const more = { ...a, 'node_modules/b': { version: '1.0.0' } }
  expect([newer, more, {}].map((locked) => hasItsPackages(folderWith(locked, a)))).toEqual([false, false, false])
  expect(hasItsPackages(folderWith(a))).toBe(false)
})

test('packages count as not installed if the list of what npm installed ends too early', () => {
  const folder = folderWith(a, a)
  expect(hasItsPackages(folder)).toBe(true)
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), '{ "packages": {')
  expect(hasItsPackages(folder)).toBe(false)
})
