import { parseArgs } from 'node:util'

const commands = ['login', 'logout', 'status', 'whoami', 'token', 'fetch', 'doctor'] as const

export type CommandName = (typeof commands)[number]

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

const ofService: readonly string[] = ['login', 'doctor']

/** The options, as `parseArgs` takes them. `of` lists the commands that have an option. Without it, all have it. */
const options = {
  profile: { type: 'string', default: 'default' },
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
  version: { type: 'boolean', short: 'v', default: false },
  'auth-url': { type: 'string', of: ofService },
  'base-url': { type: 'string', of: ofService },
  'client-id': { type: 'string', of: ofService },
  'client-secret-file': { type: 'string', of: ofService },
  'redirect-uri': { type: 'string', of: ofService },
  scope: { type: 'string', of: ofService },
  ports: { type: 'string', of: ofService },
  timeout: { type: 'string', of: ['login'] as readonly string[] },
  'no-browser': { type: 'boolean', of: ['login'] as readonly string[] },
  origin: { type: 'string', of: ['doctor'] as readonly string[] },
  'at-service': { type: 'boolean', of: ['logout'] as readonly string[] },
} as const

/** Reads the arguments. Returns `help` or `version` if they ask for it. Throws a `UsageError`. */
export function readCommandLine(args: readonly string[]): CommandLine | 'help' | 'version' {
  const { values, positionals } = parse(args)
  const { profile, json, help, version, ...flags } = values
  if (help || args.length === 0) return 'help'
  if (version) return 'version'
  const [given, ...rest] = positionals
  const name = commands.find((command) => command === given)
  // What was given instead is not quoted, because it may be a value in the wrong place, such as a secret.
  if (!name) throw new UsageError(`the commands are ${commands.join(', ')}`)
  const unknown = Object.keys(flags).find((flag) => !options[flag as keyof Flags].of.includes(name))
  if (unknown !== undefined) throw new UsageError(`${name} does not take --${unknown}`)
  const [least, most] = name === 'fetch' ? [2, 3] : [0, 0]
  if (rest.length < least || rest.length > most)
    throw new UsageError(name === 'fetch' ? 'fetch takes METHOD PATH [BODY]' : `${name} takes no arguments`)
  if (!/^[\w.-]{1,64}$/.test(profile)) throw new UsageError('--profile takes letters, digits, dots and dashes')
  return { name, profile, output: json ? 'json' : 'text', flags, rest }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
