import { spawn } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { exitCodes } from '../flags.ts'
import { installOwnPackages, ownPackages } from '../own-packages.ts'

/** The rooms of `src/` whose score is measured, the smallest first. */
export const scoredRooms = ['storage', 'token-endpoint', 'bearer', 'session'] as const

/** The part of Stryker's report that names the outcome of each mutant. */
export interface Report {
  readonly files: Readonly<Record<string, { readonly mutants: readonly { readonly status: string }[] }>>
}

export interface Score {
  readonly killed: number
  readonly timedOut: number
  readonly survived: number
  readonly uncovered: number
  /** Noticed mutants by all that count. */
  readonly share: number
}

const leastShare = 0.85
const folder = ownPackages.stryker
const reports = 'coverage/mutation'

/** Counts the mutants of a report by outcome. Ignored ones and those that do not compile do not count. */
export function scoreOf({ files }: Report): Score {
  const statuses = Object.values(files).flatMap(({ mutants }) => mutants.map(({ status }) => status))
  const count = (wanted: string): number => statuses.filter((status) => status === wanted).length
  const [killed, timedOut] = [count('Killed'), count('Timeout')]
  const [survived, uncovered] = [count('Survived'), count('NoCoverage')]
  const noticed = killed + timedOut
  return { killed, timedOut, survived, uncovered, share: noticed / (noticed + survived + uncovered) }
}

/** Whether every room reaches the least share. One without mutants does not. */
export function isEnough(scores: readonly Score[]): boolean {
  return scores.every(({ share }) => share >= leastShare)
}

/** Measures each room with Stryker, prints the scores and returns the exit code. */
export async function measureRooms(rooms: readonly string[], root: string, scope: 'all' | 'changed'): Promise<number> {
  for (const name of ['stryker', 'tests'] as const) await installOwnPackages(name)
  const scores: Score[] = []
  for (const room of rooms) {
    await runStryker(room, root, scope)
    scores.push(scoreOf(JSON.parse(readFileSync(join(root, reportOf(room)), 'utf8')) as Report))
  }
  for (const [index, score] of scores.entries()) process.stdout.write(`${lineOf(rooms[index] ?? '', score)}\n`)
  return isEnough(scores) ? exitCodes.ok : exitCodes.failed
}

function reportOf(room: string): string {
  return `${reports}/${room}.json`
}

function lineOf(room: string, { killed, timedOut, survived, uncovered, share }: Score): string {
  const counts = `${killed} killed, ${timedOut} timed out, ${survived} survived, ${uncovered} reached by no test`
  return `${room}: ${(share * 100).toFixed(1)} % (${counts})`
}

/** Runs Stryker with the terminal of this process. Its report is also what a later run of the changed mutants begins with. */
async function runStryker(room: string, root: string, scope: 'all' | 'changed'): Promise<void> {
  if (scope === 'all') rmSync(join(root, reportOf(room)), { force: true })
  const tests = [room, 'core'].map((name) => `test/${name}/**/*.test.ts`)
  const args = [
    ...['run', `${folder}/stryker.config.js`],
    ...['--mutate', `src/${room}.ts,src/${room}/**/*.ts`],
    ...['--testFiles', tests.join(',')],
    ...['--incremental', '--incrementalFile', reportOf(room)],
  ]
  const child = spawn(process.execPath, [`${folder}/node_modules/.bin/stryker`, ...args], {
    cwd: root,
    stdio: 'inherit',
  })
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('exit', resolve))
  if (code !== 0) throw new Error(`Stryker ended with exit code ${code} in the room ${room}`)
}
