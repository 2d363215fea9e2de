import { parseArgs } from 'node:util'
import { defaultPorts } from '../limits.ts'
import type { Framework, Option } from '../options.ts'
import { commandOptions, serviceOptions } from '../options.ts'
import { refuseRedirectUri } from '../redirect-uris.ts'
import type { ServiceOptions } from '../service-options.ts'
import type { Environment, FlagValues } from './read-options.ts'
import { argumentText, nameAsGiven, optionFlags, readLocation, readOption, unknownVariables } from './read-options.ts'

export interface Command {
  kind: 'help' | 'start'
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
export function readCommand(args: string[], environment: Environment): Command | string {
  try {
    const given: FlagValues = parseArgs({ args, options: flags, allowNegative: true }).values
    const read = <Value>(option: Option<Value>) => readOption(option, given, environment)
    const options = readServiceOptions(given, environment)
    const nameOf: NameOf = (option) => nameAsGiven(serviceOptions[option], given, environment)
    const { authPort, basePort, redirectUris = [] } = options
    const badUri = redirectUris.map(refuseRedirectUri).find((problem) => problem !== undefined)
    if (badUri !== undefined) return `${nameOf('redirectUris')}: ${badUri}`
    if (authPort === basePort && authPort !== 0)
      return `${nameOf('authPort')} and ${nameOf('basePort')} are both ${authPort}; they must differ`
    return {
      kind: given.help === true ? 'help' : 'start',
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
