import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { hasItsPackages, installIn } from '../scripts/own-packages.ts'

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

/** A folder without packages, and an npm that notes when it starts, waits for the file `go` and installs what the lock file says. */
function folderAndNpm({ exitCode = 0 } = {}): { folder: string; npmRuns: () => number; go: () => void } {
  const folder = folderWith(a)
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  const script = `#!/bin/sh
echo started >> ${folder}/runs
until [ -e ${folder}/go ]; do sleep 0.05; done
cp ${folder}/package-lock.json ${folder}/node_modules/.package-lock.json
exit ${exitCode}
`
  writeFileSync(join(bin, 'npm'), script, { mode: 0o755 })
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const npmRuns = (): number =>
    readFileSync(join(folder, 'runs'), { encoding: 'utf8', flag: 'a+' }).split('\n').length - 1
  return { folder, npmRuns, go: () => writeFileSync(join(folder, 'go'), '') }
}

function printedHere(): () => string {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => write.mockRestore())
  return () => write.mock.calls.map(([text]) => String(text)).join('')
}

const waiting = /^waiting for another command, which installs the packages of /m

test('of two commands that need the same packages at once, one installs them and the other says that it waits', async () => {
  const { folder, npmRuns, go } = folderAndNpm()
  const printed = printedHere()
  const both = [installIn(folder), installIn(folder)]
  await expect
    .poll(() => ({ runsCount: npmRuns(), printed: printed() }))
    .toEqual({ runsCount: 1, printed: expect.stringMatching(waiting) })
  go()
  await Promise.all(both)
  expect({
    runsCount: npmRuns(),
    hasPackages: hasItsPackages(folder),
    isLocked: existsSync(join(folder, '.installing')),
  }).toEqual({ runsCount: 1, hasPackages: true, isLocked: false })
})

test('an installation that failed lets the next command try', async () => {
  const { folder, npmRuns, go } = folderAndNpm({ exitCode: 7 })
  const printed = printedHere()
  go()
  await expect(installIn(folder)).rejects.toThrow('ended with exit code 7')
  rmSync(join(folder, 'node_modules/.package-lock.json'))
  await expect(installIn(folder)).rejects.toThrow('ended with exit code 7')
  expect({ runsCount: npmRuns(), printed: printed() }).toEqual({
    runsCount: 2,
    printed: expect.not.stringMatching(waiting),
  })
})

test('a command ends the lock of one that was killed, and not the lock of one that still runs', async () => {
  const { folder, npmRuns, go } = folderAndNpm()
  printedHere()
  const lock = join(folder, '.installing')
  mkdirSync(lock)
  writeFileSync(join(lock, 'killed'), '')
  utimesSync(join(lock, 'killed'), 0, 0)
  const installed = [installIn(folder), installIn(folder)]
  await expect.poll(npmRuns).toBe(1)
  const [owner = ''] = readdirSync(lock)
  const lastRenewalMs = (): number => statSync(join(lock, owner)).mtimeMs
  const startedMs = lastRenewalMs()
  await expect.poll(lastRenewalMs).toBeGreaterThan(startedMs)
  go()
  await Promise.all(installed)
  expect({ isOwnerKilled: owner === 'killed', runsCount: npmRuns() }).toEqual({ isOwnerKilled: false, runsCount: 1 })
})
