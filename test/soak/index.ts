import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { exitCodes, runCommand } from '../../scripts/flags.ts'
import { killStorm } from '../../service/test/support/kill-storm.ts'
import { bundleCommand, type ProcessOptions } from '../../service/test/support/processes.ts'
import { fileKills } from '../support/file-kills.ts'
import { freshFile } from '../support/fresh-file.ts'
import { createDatabase, startPostgres } from '../support/postgres-server.ts'
import { startRedis } from '../support/redis-server.ts'
import { isFaultless, storm, stormSize } from '../support/storm.ts'

const help = `Usage: npx tsx test/soak/index.ts [--only storms|kills] [--rounds N]

Repeats for hours what the tests do once. Storms: all sessions of several processes expire at once, over Redis, PostgreSQL and a file.
Kills: SIGKILL of a process that refreshes over a file, and of the service under load, on libSQL and PostgreSQL.

  --only NAME  only these
  --rounds N   default 200
  -h, --help   this text

Exit codes: 0 all held, 1 one did not, 2 the arguments are wrong.
`

type AtEnd = (end: () => void | Promise<void>) => void
type Run = (rounds: number, atEnd: AtEnd) => Promise<{ readonly says: string; readonly held: boolean }>

const runs: Readonly<Record<string, Run>> = {
  async 'storms, Redis'(rounds, atEnd) {
    const redis = await startRedis()
    atEnd(redis.stop)
    return stormOver('redis', redis.url, stormSize, rounds, atEnd)
  },
  async 'storms, PostgreSQL'(rounds, atEnd) {
    const postgres = await startPostgres()
    atEnd(postgres.stop)
    return stormOver('postgres', (await createDatabase(postgres.url)).url, stormSize, rounds, atEnd)
  },
  async 'storms, one file'(rounds, atEnd) {
    const size = { processes: 8, sessions: 1, requests: 50, callsAtOnce: 1 }
    return stormOver('file', freshFile(atEnd), size, rounds, atEnd)
  },
  async 'kills, one file'(rounds, atEnd) {
    const { kills, lost, missing, torn } = await fileKills(atEnd, { lanes: 8, sessions: 1, kills: rounds })
    return {
      says: `${kills} kills, ${torn} damaged files, ${missing} missing records, ${lost} lost sessions`,
      held: torn + missing + lost === 0,
    }
  },
  async 'kills, service on libSQL'(rounds, atEnd) {
    const folder = await mkdtemp(join(tmpdir(), 'agent-service-soak-'))
    atEnd(() => rm(folder, { recursive: true }))
    return killsOfService({ dataFile: join(folder, 'data.db') }, rounds, atEnd)
  },
  async 'kills, service on PostgreSQL'(rounds, atEnd) {
    const postgres = await startPostgres()
    atEnd(postgres.stop)
    return killsOfService({ databaseUrl: postgres.url }, rounds, atEnd)
  },
}

async function stormOver(
  kind: 'redis' | 'postgres' | 'file',
  url: string,
  size: { readonly [Name in keyof typeof stormSize]: number },
  rounds: number,
  atEnd: AtEnd,
): ReturnType<Run> {
  const seen = await storm(atEnd, { kind, url, ...size, rounds })
  const wrong = seen.filter((round) => !isFaultless(round, size))
  return { says: `${seen.length} rounds, ${wrong.length} with a fault`, held: wrong.length === 0 }
}

async function killsOfService(data: ProcessOptions['data'], rounds: number, atEnd: AtEnd): ReturnType<Run> {
  const command = await bundleCommand()
  atEnd(command.remove)
  const { logins, refreshes, leafless, doubled, lost } = await killStorm({ command: command.file, data, kills: rounds })
  const faults = leafless.length + doubled.length + lost.length
  return { says: `${logins} logins, ${refreshes} refreshes, ${faults} broken sessions`, held: faults === 0 }
}

const options = { only: { type: 'string', default: '' }, rounds: { type: 'string', default: '200' } } as const

await runCommand({ name: 'soak', help, options }, async ({ only, rounds }) => {
  let exitCode: number = exitCodes.ok
  for (const [name, run] of Object.entries(runs)) {
    if (!name.startsWith(only)) continue
    const ends: (() => void | Promise<void>)[] = []
    try {
      const { says, held } = await run(Number(rounds), (end) => ends.push(end))
      process.stdout.write(`${name}: ${held ? 'held' : 'DID NOT HOLD'}, ${says}\n`)
      if (!held) exitCode = exitCodes.failed
    } finally {
      for (const end of ends.reverse()) await end()
    }
  }
  return exitCode
})
