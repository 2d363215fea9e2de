import { execFileSync } from 'node:child_process'
import { arch, cpus, release, totalmem, type } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const written = [':!bench/results.json', ':!docs/numbers.md', ':!docs/numbers.svg']

/** Where something was measured. */
export interface Machine {
  readonly processor: string
  readonly cores: number
  readonly memoryGiB: number
  readonly system: string
  readonly node: string
}

export function thisMachine(): Machine {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release().split('-')[0]}, ${arch()}`,
    node: process.versions.node,
  }
}

/** Returns which share of the processors other work takes, 0 to 1: what they do while this process waits. */
export async function otherWork(ms: number): Promise<number> {
  const before = ticks()
  await sleep(ms)
  const after = ticks()
  const all = after.all - before.all
  return all === 0 ? 0 : Math.max(0, 1 - (after.idle - before.idle) / all)
}

function ticks(): { idle: number; all: number } {
  const times = cpus().map(({ times }) => times)
  const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0)
  return { idle: sum(times.map(({ idle }) => idle)), all: sum(times.flatMap((one) => Object.values(one))) }
}

/** Returns the commit of what is measured, and whether files differ from it. */
export function measuredCommit(): string {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  try {
    const isChanged = git('status', '--porcelain', '--untracked-files=no', '--', '.', ...written) !== ''
    return git('rev-parse', '--short=10', 'HEAD') + (isChanged ? ' with changes' : '')
  } catch {
    return 'unknown'
  }
}
