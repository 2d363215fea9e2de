import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AtEnd } from '../../support/children.ts'
import { createDatabase, startPostgres } from '../../support/postgres-server.ts'
import { check } from '../checker/check.ts'
import { formatHistory } from '../checker/history.ts'
import { printReport } from '../checker/print.ts'
import type { SoakSize } from '../index.ts'
import { type NemesisName, nemeses } from './nemeses.ts'
import { recordHistory } from './run.ts'
import { postgresUnderFaults, redisUnderFaults, type StoreUnderFaults } from './stores.ts'

const kinds = ['redis', 'postgres'] as const

/** Records a history of so many calls under each nemesis on each storage, and judges it. */
export async function soakHistories({ rounds, onRound, nemesis, seed = randomUUID() }: SoakSize): Promise<string> {
  const names = Object.keys(nemeses) as NemesisName[]
  const chosen = names.filter((name) => nemesis === undefined || name === nemesis)
  if (chosen.length === 0) throw new Error(`The nemeses are ${names.join(', ')}.`)
  const lines: string[] = []
  for (const kind of kinds)
    for (const name of chosen) {
      const { only } = nemeses[name]
      if (only === undefined || only === kind) lines.push(await soakOne(kind, name, { rounds, onRound, seed }))
    }
  return `seed ${seed}\n  ${lines.join('\n  ')}\n `
}

type Kind = (typeof kinds)[number]

async function soakOne(
  kind: Kind,
  name: NemesisName,
  { rounds, onRound, seed }: Pick<SoakSize, 'rounds' | 'onRound'> & { seed: string },
): Promise<string> {
  const ends: (() => void | Promise<void>)[] = []
  const atEnd: AtEnd = (end) => void ends.push(end)
  try {
    const events = await recordHistory(atEnd, {
      store: await started(kind, atEnd),
      processes: 8,
      sessions: 100,
      callsAtOnce: 8,
      maxPauseMs: 40,
      nemeses: [name],
      calls: rounds,
      faultMs: name === 'read-only' ? 60_000 : 6_000,
      restMs: 2_000,
      seed,
      onCalls: onRound,
    })
    const report = check(events)
    if (report.holds) return `${kind}, ${name}: ${printReport(report).replaceAll('\n ', ';')}`
    const file = join(tmpdir(), `agent-auth-history-${kind}-${name}-${seed}.jsonl`)
    await writeFile(file, formatHistory(events))
    throw new Error(`${kind}, ${name}, seed ${seed}, recorded in ${file}:\n${printReport(report)}`)
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

async function started(kind: Kind, atEnd: AtEnd): Promise<StoreUnderFaults> {
  if (kind === 'redis') return redisUnderFaults(atEnd)
  const server = await startPostgres()
  atEnd(() => server.stop())
  return postgresUnderFaults(atEnd, (await createDatabase(server.url)).url)
}
