import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownPackages, type PackageSet } from '../own-packages.ts'
import { apply, type Mutant } from './mutants.ts'

export interface Run {
  readonly outcome: 'passed' | 'failed' | 'hung'
  readonly output: string
}

/** A copy of the working tree, in which sources are changed and tests run. */
export interface Workshop {
  readonly files: readonly string[]
  read(file: string): string
  /** Runs test files until one fails, or until nothing was printed for so long that it hangs. */
  test(files: readonly string[], silenceLimitS: number): Promise<Run>
  /** Changes the source for as long as `work` takes. */
  changed<T>(mutant: Mutant, work: () => Promise<T>): Promise<T>
  remove(): void
}

/** What the tests of a change can need. A set that the copy lacks would be installed in each copy. */
export const linkedSets: readonly PackageSet[] = ['tests', 'benches']

const linked = ['node_modules', ...linkedSets.map((set) => `${ownPackages[set]}/node_modules`)]
const maxOutputChars = 1_000_000

export function openWorkshop(root: string): Workshop {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' })
  const tracked = listed.split('\0').filter((file) => file !== '')
  const copy = mkdtempSync(join(tmpdir(), 'agent-auth-mutate-'))
  for (const file of tracked) cpSync(join(root, file), join(copy, file), { force: true })
  for (const folder of linked) symlinkSync(join(root, folder), join(copy, folder))
  const read = (file: string): string => readFileSync(join(copy, file), 'utf8')
  return {
    files: tracked.filter((file) => /\.tsx?$/.test(file)),
    read,
    test: (files, silenceLimitS) => {
      const args = ['node_modules/vitest/vitest.mjs', 'run', '--project', '!postgres', '--bail', '1']
      return run(copy, [...args, ...files.map((file) => join(copy, file))], silenceLimitS)
    },
    async changed(mutant, work) {
      const content = read(mutant.file)
      writeFileSync(join(copy, mutant.file), apply(mutant, content))
      try {
        return await work()
      } finally {
        writeFileSync(join(copy, mutant.file), content)
      }
    },
    remove: () => rmSync(copy, { recursive: true, force: true }),
  }
}

function run(cwd: string, args: readonly string[], silenceLimitS: number): Promise<Run> {
  return new Promise((resolve, reject) => {
    // A group of its own, because a worker that hangs outlives its parent.
    const child = spawn(process.execPath, args, { cwd, detached: true, env: { ...process.env, NO_COLOR: '1', CI: '' } })
    let output = ''
    let isLate = false
    const end = (signal: NodeJS.Signals): void => {
      if (child.pid === undefined) return
      try {
        process.kill(-child.pid, signal)
      } catch {
        // The group has ended.
      }
    }
    // On a busy machine a run may take long; one that hangs prints no more results.
    const timer = setTimeout(() => {
      isLate = true
      end('SIGTERM')
      setTimeout(end, 5_000, 'SIGKILL').unref()
    }, silenceLimitS * 1_000)
    const stop = (): void => end('SIGKILL')
    process.once('exit', stop)
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes) => {
        output = (output + bytes).slice(-maxOutputChars)
        if (!isLate) timer.refresh()
      })
    child.once('error', reject)
    child.once('close', (code) => {
      clearTimeout(timer)
      process.off('exit', stop)
      resolve({ outcome: isLate ? 'hung' : code === 0 ? 'passed' : 'failed', output })
    })
  })
}
