import { accessSync, closeSync, constants, existsSync, openSync, readSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { commandName } from '../command-name.ts'
import { linkTarget } from '../store/libsql.ts'
import { openStore, type Store } from '../store/store.ts'
import { failureText } from './failures.ts'
import { ArgumentError, argumentText, type FlagValues, type Location, readLocation } from './read-command.ts'

const header = 'SQLite format 3\0'

/**
 * Returns why this path cannot be a data file, or undefined. A new file needs an existing folder. Call it before the
 * database is opened, because closing a file releases every lock that this process has on it.
 */
export function refuseDataFile(dataFile: string): string | undefined {
  const named = (problem: string): string => `the data file ${JSON.stringify(dataFile)} ${problem}`
  const file = statSync(dataFile, { throwIfNoEntry: false })
  if (file === undefined) {
    const folder = dirname(resolve(linkTarget(dataFile)))
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true)
      return named('cannot be created: its folder does not exist')
    return isAllowed(folder) ? undefined : named('cannot be created: its folder is not writable')
  }
  if (!file.isFile()) return named('is not a file; choose another path')
  if (!isAllowed(dataFile)) return named('cannot be read and written by this user')
  return file.size === 0 || beginning(dataFile) === header
    ? undefined
    : named('is not a SQLite database; choose another path')
}

function isAllowed(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

function beginning(file: string): string {
  const bytes = Buffer.alloc(header.length)
  const descriptor = openSync(file, 'r')
  try {
    readSync(descriptor, bytes)
    return bytes.toString('latin1')
  } finally {
    closeSync(descriptor)
  }
}

/** A command on data that a service may be running on. */
export interface OfflineCommand {
  name: string
  help(words: readonly string[]): string
  flags: NonNullable<ParseArgsConfig['options']>
  /** Returns the text to print. Throws an ArgumentError for wrong arguments, and another error if it is refused. */
  run(given: OfflineArguments): Promise<string>
}

interface OfflineArguments {
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
