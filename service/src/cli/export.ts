import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { inMebibytes } from '../byte-count.ts'
import { commandName } from '../command-name.ts'
import { seedOf, seedText } from '../seed/export-seed.ts'
import { seedLimits } from '../seed/seed-limits.ts'
import { readSeedRows } from '../store/read-seed-rows.ts'
import { openStore } from '../store/store.ts'
import { argumentProblem } from './argument-problem.ts'
import { refuseDataFile } from './data-file.ts'
import { failureText } from './failures.ts'
import { whereData } from './where-data.ts'
import { writeFileWhole, writeToStdout } from './write-whole.ts'

const help = `agent-service export: writes the data of a data file or of DATABASE_URL as a seed

  agent-service export --data FILE > SEED
  agent-service export --data FILE --out SEED

  --data FILE            the data file; without it DATABASE_URL names a PostgreSQL database
  --out SEED             write to this file, which is replaced only by a whole export, with mode 0600
  -h, --help             this text

The seed has tenants, users, clients, models and agents, and the hashes of passwords and secrets with the key of these hashes. Keep it
as secret as the data. Sign-ins, tokens and the history of clients are not in it. A service may run on the same data.
Data of another version of agent-service is refused, and stays as it is.
Exit codes: 0 done or help, 1 refused or failed, 2 wrong arguments.
`

const flags = {
  help: { type: 'boolean', short: 'h' },
  data: { type: 'string' },
  'database-url': { type: 'string' },
  out: { type: 'string' },
} as const

interface Export {
  location: { dataFile?: string; databaseUrl?: string }
  out: string | undefined
}

/** `agent-service export …`; returns the exit code. */
export async function exportMain(args: string[]): Promise<0 | 1 | 2> {
  const read = readExport(args)
  if (read === 'help') {
    process.stdout.write(help)
    return 0
  }
  if (typeof read === 'string') return complain(`${read}\nTry ${commandName()} export --help`, 2)
  const { dataFile, databaseUrl } = read.location
  try {
    const problem = dataFile === undefined ? undefined : refuseExported(dataFile)
    if (problem !== undefined) return complain(problem, 1)
    const text = await exportedText(read.location)
    if (read.out === undefined) await writeToStdout(text)
    else await writeFileWhole(read.out, text)
    if (Buffer.byteLength(text) > seedLimits.fileBytes)
      complain(`warning: the export is larger than the ${inMebibytes(seedLimits.fileBytes)} that --seed reads`, 1)
    return 0
  } catch (error) {
    return complain(failureText(error, databaseUrl), 1)
  }
}

function readExport(args: string[]): Export | string {
  try {
    const { values } = parseArgs({ args, options: flags })
    if (values.help === true) return 'help'
    const location = whereData(values, process.env)
    if (Object.keys(location).length === 0) return 'export needs --data FILE or DATABASE_URL'
    return values.out === '' ? '--out takes a value: SEED' : { location, out: values.out }
  } catch (error) {
    return argumentProblem(error, { args, flags: Object.keys(flags), words: [] })
  }
}

/** Opening a misspelt name would create an empty database. */
function refuseExported(dataFile: string): string | undefined {
  return existsSync(dataFile) ? refuseDataFile(dataFile) : `there is no data file ${JSON.stringify(dataFile)}`
}

async function exportedText({ dataFile, databaseUrl }: Export['location']): Promise<string> {
  const store = await openStore({ dataFile, databaseUrl }, { migrations: 'refuse' })
  try {
    const data = await readSeedRows(store.db, Date.now())
    if (data.tenants.length === 0) throw new Error('the database holds no data yet; start the service on it first')
    return seedText(seedOf(data))
  } finally {
    await store.close()
  }
}

function complain<Code extends 1 | 2>(problem: string, exitCode: Code): Code {
  process.stderr.write(`agent-service: ${problem}\n`)
  return exitCode
}
