import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { commandName } from '../command-name.ts'
import { copyDataFile } from '../store/engine/copy-data-file.ts'
import { argumentProblem } from './argument-problem.ts'
import { refuseDataFile } from './data-file.ts'
import { whereData } from './where-data.ts'

const help = `agent-service backup: copies a data file

  agent-service backup FILE --data SOURCE

The service may run on SOURCE. The copy has the state of one moment. FILE must not exist. It is created for its owner only,
because it holds the keys and the hashes of passwords. To restore it, stop the service and start it with --data FILE.

  --data SOURCE          the data file (default: AGENT_SERVICE_DATA)
  -h, --help             print this text

For PostgreSQL, use pg_dump.
Exit codes: 0 copied or help, 1 failed, 2 wrong arguments.
`

const flags = { data: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const

/** `agent-service backup FILE`; returns the exit code. */
export async function backupMain(args: string[]): Promise<0 | 1 | 2> {
  const read = readArguments(args)
  if (read === 'help') {
    process.stdout.write(help)
    return 0
  }
  if (typeof read === 'string') return complain(`${read}\nTry ${commandName()} backup --help`, 2)
  const { copy, dataFile } = read
  if (!existsSync(dataFile)) return complain(`there is no data file ${JSON.stringify(dataFile)}`, 1)
  const problem = refuseDataFile(dataFile)
  if (problem !== undefined) return complain(problem, 1)
  try {
    copyDataFile(dataFile, copy)
  } catch (error) {
    return complain(failureOf(error, copy), 1)
  }
  process.stdout.write(`copied to ${copy}\n`)
  return 0
}

function readArguments(args: string[]): { copy: string; dataFile: string } | string {
  try {
    const { values, positionals } = parseArgs({ args, options: flags, allowPositionals: true })
    if (values.help) return 'help'
    const [copy = '', ...more] = positionals
    if (copy === '' || more.length > 0) return 'backup takes the path of one new file'
    const { dataFile, databaseUrl } = whereData({ data: values.data }, process.env)
    if (dataFile !== undefined) return { copy, dataFile }
    return databaseUrl === undefined
      ? 'backup needs --data SOURCE'
      : 'backup copies data files; for PostgreSQL use pg_dump'
  } catch (error) {
    return argumentProblem(error, { args, flags: Object.keys(flags), words: [] })
  }
}

function failureOf(error: unknown, copy: string): string {
  const { code } = error as { code?: unknown }
  if (code === 'EEXIST') return `the file ${JSON.stringify(copy)} exists already; choose another path`
  if (code === 'ENOENT') return `the file ${JSON.stringify(copy)} cannot be created: its folder does not exist`
  return `the data could not be copied${typeof code === 'string' ? ` (${code})` : ''}; check that there is room and that FILE can be written`
}

function complain(problem: string, exitCode: 1 | 2): 1 | 2 {
  process.stderr.write(`agent-service: ${problem}\n`)
  return exitCode
}
