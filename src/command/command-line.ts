import { parseArgs } from 'node:util'

/** The commands, and which options each takes besides those of all. */
export const commands = {
  login: [
    'auth-url',
    'base-url',
    'client-id',
    'client-secret-file',
    'redirect-uri',
    'scope',
    'ports',
    'timeout',
    'no-browser',
  ],
  logout: ['at-service'],
  status: [],
  whoami: [],
  token: [],
  fetch: [],
  doctor: ['auth-url', 'base-url', 'client-id', 'client-secret-file', 'redirect-uri', 'scope', 'ports', 'origin'],
} as const

export type CommandName = keyof typeof commands

/** The command line, checked. */
export interface CommandLine {
  readonly name: CommandName
  readonly profile: string
  readonly output: 'text' | 'json'
  readonly flags: Flags
  /** What follows the name of the command. */
  readonly rest: readonly string[]
}

/** The options of one command. */
export type Flags = Omit<ReturnType<typeof parse>['values'], 'profile' | 'json' | 'help' | 'version'>

/** A mistake in the command line. Its message says what to write. */
export class UsageError extends Error {}

/** Reads the arguments. Returns `help` or `version` if they ask for it. Throws a `UsageError`. */
export function readCommandLine(args: readonly string[]): CommandLine | 'help' | 'version' {
  const { values, positionals } = parse(args)
  const [name, ...rest] = positionals
  if (values.help || (name === undefined && args.length === 0)) return 'help'
  if (values.version) return 'version'
  if (name === undefined || !Object.hasOwn(commands, name)) throw new UsageError(unknownCommand(name))
  const { profile, json, help: _, version: __, ...flags } = values
  const known: readonly string[] = commands[name as CommandName]
  const unknown = Object.keys(flags).find((flag) => !known.includes(flag))
  if (unknown !== undefined) throw new UsageError(`${name} does not take --${unknown}`)
  const [least, most] = name === 'fetch' ? [2, 3] : [0, 0]
  if (rest.length < least || rest.length > most)
    throw new UsageError(name === 'fetch' ? 'fetch takes METHOD PATH [BODY]' : `${name} takes no arguments`)
  if (!/^[\w.-]{1,64}$/.test(profile)) throw new UsageError('--profile takes letters, digits, dots and dashes')
  return { name: name as CommandName, profile, output: json ? 'json' : 'text', flags, rest }
}

function unknownCommand(name = ''): string {
  // Other text may be a value in the wrong place, such as a secret.
  const shown = /^[\w-]{1,24}$/.test(name) ? `there is no command ${name}; ` : ''
  return `${shown}the commands are ${Object.keys(commands).join(', ')}`
}

const options = {
  profile: { type: 'string', default: 'default' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', short: 'v', default: false },
  'auth-url': { type: 'string' },
  'base-url': { type: 'string' },
  'client-id': { type: 'string' },
  'client-secret-file': { type: 'string' },
  'redirect-uri': { type: 'string' },
  scope: { type: 'string' },
  ports: { type: 'string' },
  timeout: { type: 'string' },
  'no-browser': { type: 'boolean' },
  origin: { type: 'string' },
  'at-service': { type: 'boolean' },
} as const

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (error) {
    throw new UsageError(problemOf(error))
  }
}

/** Returns what is wrong with the arguments. An option without a name of letters may be a value in the wrong place, such as a secret. */
function problemOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  // A value that begins with a hyphen looks like the next option.
  const [, flag] = /'(?:-\w, )?--([\w-]+)' argument is ambiguous/.exec(String(message)) ?? []
  if (flag !== undefined) return `--${flag} takes a value; write --${flag}=VALUE if it begins with a hyphen`
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return String(message)
  const [, name] = /^[^']*'(-{1,2}[\w-]{1,24})'/.exec(String(message)) ?? []
  return name === undefined ? 'there is an unknown option' : `there is no option ${name}`
}
