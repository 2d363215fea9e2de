import { fork } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { type AtEnd, bundled, nextWord } from './children.ts'
import { isWhole, leaseOverMs } from './file-kills.ts'
import { freshFile } from './fresh-file.ts'
import { peopleSignedIn, type StormTask, signPeopleIn } from './storm.ts'

export interface CrashReport {
  /** The steps of a refresh in their order, at each of which a process was killed. */
  readonly steps: string[]
  /** How each process refreshed what its predecessor left. */
  readonly outcomes: string[]
  /** Kills after which the file was not a whole one. */
  torn: number
}

/** Each kill costs its successor the wait for a lease. */
const lanes = 8

/** Kills a process at each step of a refresh, in lanes with a session and a file each. Each successor refreshes what is left. */
export async function crashAtEachStep(atEnd: AtEnd): Promise<CrashReport> {
  const program = await bundled(atEnd, 'crashing-refresher.ts')
  const size = { kind: 'file', sessions: 1, requests: 1 } as const
  const { service, task } = await peopleSignedIn(atEnd, { ...size, url: freshFile(atEnd) }, { graceMs: 600_000 })
  const report: CrashReport = { steps: [], outcomes: [], torn: 0 }
  const lane = async (first: number): Promise<void> => {
    const own = { ...task, url: freshFile(atEnd) }
    await signPeopleIn(service, own)
    for (let dieAt = first; await isKilled(own, dieAt); dieAt += lanes);
  }
  await Promise.all(Array.from({ length: lanes }, (_, index) => lane(index + 1)))
  return report

  /** Resolves to false if the refresh has fewer steps. */
  async function isKilled(own: StormTask, dieAt: number): Promise<boolean> {
    const args = [JSON.stringify(own), String(dieAt), String(dieAt * leaseOverMs)]
    const child = fork(program, args, { execArgv: [], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
    atEnd(() => void child.kill('SIGKILL'))
    const exit = once(child, 'exit')
    const stepName = text(child.stdout as NonNullable<typeof child.stdout>)
    report.outcomes.push(String(await nextWord(child)))
    const [, signal] = await exit
    if (!isWhole(own.url)) report.torn += 1
    if (signal !== 'SIGKILL') return false
    report.steps[dieAt - 1] = await stepName
    return true
  }
}
