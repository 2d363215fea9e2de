import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AtEnd, bundled, nextWord } from './children.ts'
import { freshFile } from './fresh-file.ts'
import type { RefreshWord } from './refresh-loop.ts'
import { peopleSignedIn, signPeopleIn } from './storm.ts'

export interface KillReport {
  kills: number
  /** Sessions whose refresh token the service refused to the next process: it was spent, and its successor was not saved. */
  lost: number
  /** Sessions of which the next process found no record. */
  missing: number
  /** Reads of the file that did not give a whole content. */
  torn: number
  /** Refreshes that ended in another way than with tokens, by code. */
  readonly failures: Record<string, number>
}

export interface KillSize {
  /** How many files there are, each with a process that refreshes its sessions until it is killed. */
  readonly lanes: number
  /** How many sessions a file holds. Each kill meets all of them. */
  readonly sessions: number
  /** How many processes are killed in all. */
  readonly kills: number
  /** Default: the longest, because a loaded machine may need more than the usual 30 s to start the next process. */
  readonly graceMs?: number
  onKill?(kills: number): void
}

/** More than a lease lasts, in milliseconds. Each process has its clock so far ahead of its predecessor, and waits for no lease. */
export const leaseOverMs = 9_000

/** Kills processes that refresh without a pause at random times. Each successor has to refresh all that its predecessor left. */
export async function fileKills(
  atEnd: AtEnd,
  { lanes, sessions, kills, graceMs = 600_000, onKill }: KillSize,
): Promise<KillReport> {
  const program = await bundled(atEnd, 'refresh-loop.ts')
  const size = { kind: 'file', sessions, requests: 1 } as const
  const { service, task } = await peopleSignedIn(atEnd, { ...size, url: freshFile(atEnd) }, { graceMs })
  const report: KillReport = { kills: 0, lost: 0, missing: 0, torn: 0, failures: {} }
  const lane = async (laneKills: number): Promise<void> => {
    const own = { ...task, url: freshFile(atEnd) }
    await signPeopleIn(service, own)
    for (let kill = 0; kill <= laneKills; kill++) {
      const child = fork(program, [JSON.stringify(own), String(kill * leaseOverMs)], { execArgv: [] })
      atEnd(() => void child.kill('SIGKILL'))
      const outcomes = await firstOutcomes(child, sessions, report)
      const areAllLeft = outcomes.every((outcome) => outcome === 'refreshed')
      // About three refreshes.
      if (areAllLeft) await sleep(Math.random() * 30)
      child.kill('SIGKILL')
      await once(child, 'exit')
      report.lost += outcomes.filter((outcome) => outcome === 'session_ended').length
      report.missing += outcomes.filter((outcome) => outcome === 'login_required').length
      if (!isWhole(own.url)) report.torn += 1
      if (!areAllLeft) await signPeopleIn(service, own)
      if (kill === laneKills) continue
      report.kills += 1
      onKill?.(report.kills)
    }
  }
  await Promise.all(Array.from({ length: lanes }, (_, index) => lane(shareOf(kills, lanes, index))))
  return report
}

/** How the first refresh of each session ended. A failure that can be retried says nothing about the session. */
async function firstOutcomes(
  child: ReturnType<typeof fork>,
  sessions: number,
  { failures }: KillReport,
): Promise<string[]> {
  const outcomes = new Map<string, string>()
  while (outcomes.size < sessions) {
    const { key, outcome } = (await nextWord(child)) as RefreshWord
    if (['refreshed', 'session_ended', 'login_required'].includes(outcome)) outcomes.set(key, outcome)
    else failures[outcome] = (failures[outcome] ?? 0) + 1
  }
  return [...outcomes.values()]
}

/** Returns whether the file is a whole file of records. */
export function isWhole(path: string): boolean {
  try {
    const { v, records } = JSON.parse(readFileSync(path, 'utf8'))
    return v === 1 && typeof records === 'object'
  } catch {
    return false
  }
}

function shareOf(kills: number, lanes: number, index: number): number {
  return Math.floor(kills / lanes) + (index < kills % lanes ? 1 : 0)
}
