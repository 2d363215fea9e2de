import { existsSync } from 'node:fs'
import type { ParseArgsConfig } from 'node:util'
import { parseArgs } from 'node:util'
import { commandName } from '../command-name.ts'
import type { Store } from '../store/store.ts'
import { openStore } from '../store/store.ts'
import { refuseDataFile } from './data-file.ts'
import { failureText } from './failures.ts'
import type { FlagValues, Location } from './read-options.ts'
import { ArgumentError, argumentText, readLocation } from './read-options.ts'

/** A command on data that a service may be running on. */
export interface OfflineCommand {
  name: string
  help(words: readonly string[]): string
  flags: NonNullable<ParseArgsConfig['options']>
  /** Returns the text to print. Throws an ArgumentError for wrong arguments, and another error if it is refused. */
  run(given: OfflineArguments): Promise<string>
}

export interface OfflineArguments {
  words: readonly string[]
  flags: FlagValues
  location: Location
}

/** Being able to open the data is the permission. */
export const dataFlags = { data: { type: 'string' }, 'database-url': { type: 'string' } } as const

export const dataHelp = `  --data FILE            the data file (default: AGENT_SERVICE_DATA; without it a URL of PostgreSQL says where the data is)
  --database-url URL     \`postgresql://…\` (default: AGENT_SERVICE_DATABASE_URL or DATABASE_URL)
  -h, --help             print this text

Exit codes: 0 done or help, 1 refused or failed, 2 wrong arguments.
`

/** Runs the command and returns the exit code. */
export async function runOffline(command: OfflineCommand, args: string[]): Promise<0 | 1 | 2> {
  let databaseUrl: string | undefined
  try {
    const options: ParseArgsConfig['options'] = { ...command.flags, help: { type: 'boolean', short: 'h' } }
    const { values: flags, positionals: words } = parseArgs({ args, options, allowPositionals: true })
    if (flags.help === true) {
      process.stdout.write(command.help(words))
      return 0
    }
    const location = readLocation(flags, process.env)
    if (Object.keys(location).length === 0) throw new ArgumentError(`${command.name} needs --data FILE or DATABASE_URL`)
    databaseUrl = location.databaseUrl
    process.stdout.write(await command.run({ words, flags, location }))
    return 0
  } catch (error) {
    const isUsage = error instanceof ArgumentError || isParseError(error)
    const problem = isUsage
      ? `${argumentText(error)}\nTry ${commandName()} ${command.name} --help`
      : failureText(error, databaseUrl)
    process.stderr.write(`agent-service: ${problem}\n`)
    return isUsage ? 2 : 1
  }
}

function isParseError(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith('ERR_PARSE_ARGS')
}

/** Throws an Error if there is no data file of this name, because opening it would create an empty database. */
export function requireDataFile(dataFile: string): void {
  const problem = existsSync(dataFile)
    ? refuseDataFile(dataFile)
    : `there is no data file ${JSON.stringify(dataFile)}; a start with --data creates it`
  if (problem !== undefined) throw new Error(problem)
}

/** Runs a task on the data. Data of another version of agent-service is refused, and stays as it is. */
export async function onStore<Value>(location: Location, task: (store: Store) => Promise<Value>): Promise<Value> {
  const { dataFile, databaseUrl } = location
  if (dataFile !== undefined) requireDataFile(dataFile)
  const store = await openStore({ dataFile, databaseUrl }, { migrations: 'refuse' })
  try {
    return await task(store)
  } finally {
    await store.close()
  }
}

/** Returns a flag that the command needs. */
export function neededFlag(flags: FlagValues, name: string): string {
  const value = flags[name]
  if (typeof value !== 'string' || value === '') throw new ArgumentError(`--${name} is missing`)
  return value
}
