import { type ParseArgsConfig, parseArgs } from 'node:util'
import { defaultPorts } from '../limits.ts'
import { commandOptions, type Framework, type Option, serviceOptions } from '../options.ts'
import { refuseRedirectUri } from '../redirect-uris.ts'
import type { ServiceOptions } from '../service-options.ts'

export type Environment = Readonly<Record<string, string | undefined>>
export type FlagValues = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

const variablePrefix = 'AGENT_SERVICE_'
const options: readonly Option[] = [...Object.values(serviceOptions), ...Object.values(commandOptions)]

/** Returns the environment variable of an option. */
export function variableOf({ flag }: Pick<Option, 'flag'>): string {
  return variablePrefix + flag.toUpperCase().replaceAll('-', '_')
}

/** The flags of all options, for `parseArgs`. */
const optionFlags: NonNullable<ParseArgsConfig['options']> = Object.fromEntries(
  options.map(({ flag, kind }) => [
    flag,
    { type: kind === 'switch' ? ('boolean' as const) : ('string' as const), multiple: kind === 'list' },
  ]),
)

/** A wrong argument or variable. The message names it, without its value. */
export class ArgumentError extends Error {}

/** Reads an option from its flag, or else from its variable. An empty variable counts as absent, because Compose and CI set such ones. */
function readOption<Value>(option: Option<Value>, flags: FlagValues, environment: Environment): Value | undefined {
  const given = flags[option.flag] ?? (environment[variableOf(option)] || undefined)
  if (given === undefined) return undefined
  const { data, success } = option.schema.safeParse(
    typeof given === 'string' ? parsedText(option, given) : plain(given),
  )
  if (success) return data
  throw new ArgumentError(`${nameAsGiven(option, flags, environment)} takes ${option.expected}`)
}

function plain(flag: boolean | (string | boolean)[]): unknown {
  return typeof flag === 'boolean' ? (flag ? 'on' : 'off') : flag
}

const switches: Record<string, 'on' | 'off'> = { on: 'on', true: 'on', 1: 'on', off: 'off', false: 'off', 0: 'off' }

function parsedText({ kind }: Pick<Option, 'kind'>, text: string): unknown {
  if (kind === 'switch') return switches[text.toLowerCase()]
  if (kind === 'number') return /^\d{1,9}$/.test(text) ? Number(text) : undefined
  if (kind === 'list') return text.split(/\s+/).filter((item) => item !== '')
  if (kind === 'text') return text
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the variable if the option came from it, and otherwise the flag. */
function nameAsGiven(option: Pick<Option, 'flag'>, flags: FlagValues, environment: Environment): string {
  const variable = variableOf(option)
  return flags[option.flag] === undefined && environment[variable] ? variable : `--${option.flag}`
}

/** Where the data is kept: in a file, in PostgreSQL, or in memory. */
export interface Location {
  dataFile?: string
  databaseUrl?: string
}

/**
 * Returns where the data is kept. A flag wins over a variable, and `AGENT_SERVICE_DATA` over `DATABASE_URL`, which other programs read
 * as well. Without all of them, the data stays in memory.
 */
export function readLocation(flags: FlagValues, environment: Environment): Location {
  const byFlag = locationOf(flags, {})
  const named = Object.keys(byFlag).length > 0 ? byFlag : locationOf({}, environment)
  if (Object.keys(named).length > 0 || !environment.DATABASE_URL) return named
  const databaseUrl = serviceOptions.databaseUrl.schema.safeParse(environment.DATABASE_URL).data
  if (databaseUrl === undefined) throw new ArgumentError(`DATABASE_URL takes ${serviceOptions.databaseUrl.expected}`)
  return { databaseUrl }
}

function locationOf(flags: FlagValues, environment: Environment): Location {
  const dataFile = readOption(serviceOptions.dataFile, flags, environment)
  const databaseUrl = readOption(serviceOptions.databaseUrl, flags, environment)
  return { ...(dataFile === undefined ? {} : { dataFile }), ...(databaseUrl === undefined ? {} : { databaseUrl }) }
}

/** Returns the option that the URL of the database came from. A flag that says the same as a variable counts as that. */
export function databaseOption(databaseUrl: string, environment: Environment): string {
  const variables = [variableOf(serviceOptions.databaseUrl), 'DATABASE_URL']
  return variables.find((name) => environment[name] === databaseUrl) ?? `--${serviceOptions.databaseUrl.flag}`
}

/** Returns a warning for each variable that looks like an option and is none. It may belong to another program, so it is not refused. */
function unknownVariables(environment: Environment): string[] {
  const known = options.map(variableOf)
  return Object.keys(environment)
    .filter((name) => name.startsWith(variablePrefix) && !known.includes(name))
    .map((name) => `the variable ${name.slice(0, 60)} is no option; --help lists them`)
}

/** Returns what is wrong with the arguments, without a value of them. */
export function argumentText(error: unknown): string {
  const { message, code } = error as { message: string; code?: unknown }
  if (error instanceof ArgumentError) return message
  if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') return 'there is an argument that belongs to no option'
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' || code === 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE')
    return /^.*?'[^']*'[^.\n]*/.exec(message)?.[0] ?? 'there is an unknown option'
  throw error
}

export interface StartCommand {
  kind: 'start'
  output: 'text' | 'json' | 'nothing'
  framework: Framework | undefined
  opens: 'pages' | 'nothing'
  options: ServiceOptions
  warnings: string[]
  nameOf: NameOf
}

/** Returns the flag or the variable that an option came from, for a message. */
export type NameOf = (option: keyof ServiceOptions) => string

const flags = { ...optionFlags, help: { type: 'boolean', short: 'h' } } as const

/** Reads the command, or what is wrong with its arguments and variables. A flag wins over a variable. */
export function readCommand(args: string[], environment: Environment): StartCommand | { kind: 'help' } | string {
  try {
    const given: FlagValues = parseArgs({ args, options: flags, allowNegative: true }).values
    // The variables are not read, because a wrong one should not hide the text that explains it.
    if (given.help === true) return { kind: 'help' }
    const read = <Value>(option: Option<Value>) => readOption(option, given, environment)
    const options = readServiceOptions(given, environment)
    const nameOf: NameOf = (option) => nameAsGiven(serviceOptions[option], given, environment)
    const { authPort, basePort, redirectUris = [] } = options
    const badUri = redirectUris.map(refuseRedirectUri).find((problem) => problem !== undefined)
    if (badUri !== undefined) return `${nameOf('redirectUris')}: ${badUri}`
    if (authPort === basePort && authPort !== 0)
      return `${nameOf('authPort')} and ${nameOf('basePort')} are both ${authPort}; they must differ`
    return {
      kind: 'start',
      output: read(commandOptions.json) === 'on' ? 'json' : read(commandOptions.quiet) === 'on' ? 'nothing' : 'text',
      framework: read(commandOptions.env),
      opens: read(commandOptions.open) === 'on' ? 'pages' : 'nothing',
      options,
      warnings: unknownVariables(environment),
      nameOf,
    }
  } catch (error) {
    return argumentText(error)
  }
}

function readServiceOptions(flags: FlagValues, environment: Environment): ServiceOptions {
  const { dataFile: _, databaseUrl: __, ...others } = serviceOptions
  const read = Object.entries(others).map(([name, option]) => [name, readOption<unknown>(option, flags, environment)])
  return {
    authPort: defaultPorts.auth,
    basePort: defaultPorts.base,
    ...Object.fromEntries(read.filter(([, value]) => value !== undefined)),
    ...readLocation(flags, environment),
  }
}
