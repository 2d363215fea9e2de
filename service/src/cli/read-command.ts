import { parseArgs } from 'node:util'
import type { Framework } from '../command-options.ts'
import { commandOptions, frameworks } from '../command-options.ts'
import { defaultPorts } from '../limits.ts'
import { serviceOptions } from '../options.ts'
import { refuseRedirectUri } from '../redirect-uris.ts'
import type { ServiceOptions } from '../service-options.ts'
import { argumentProblem } from './argument-problem.ts'
import type { Environment, FlagValues } from './read-options.ts'
import { expectedByFlag, nameAsGiven, optionFlags, readOption, unknownVariables } from './read-options.ts'
import { whereData } from './where-data.ts'

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
    const { values } = parseArgs({ args, options: flags, allowNegative: true })
    const given = values as FlagValues
    const isOn = (name: keyof typeof commandOptions): boolean =>
      readOption(commandOptions[name], given, environment) === 'on'
    const env = readOption(commandOptions.env, given, environment)
    const options = readServiceOptions(given, environment)
    const nameOf: NameOf = (option) => nameAsGiven(serviceOptions[option], given, environment)
    const problem = refuseOptions(options, nameOf)
    if (problem !== undefined) return problem
    return {
      kind: given.help === true ? 'help' : 'start',
      output: isOn('json') ? 'json' : isOn('quiet') ? 'nothing' : 'text',
      framework: frameworks.find((known) => known === env),
      opens: isOn('open') ? 'pages' : 'nothing',
      options,
      warnings: unknownVariables(environment),
      nameOf,
    }
  } catch (error) {
    return argumentProblem(error, {
      args,
      flags: [...Object.keys(flags), 'version'],
      words: ['clients', 'export', 'backup', 'reset-password'],
      expectedBy: expectedByFlag,
    })
  }
}

function readServiceOptions(flags: FlagValues, environment: Environment): ServiceOptions {
  const { dataFile: _, databaseUrl: __, ...others } = serviceOptions
  const read = Object.entries(others).map(([name, entry]) => [name, readOption(entry, flags, environment)])
  return {
    authPort: defaultPorts.auth,
    basePort: defaultPorts.base,
    ...Object.fromEntries(read.filter(([, value]) => value !== undefined)),
    ...whereData(flags, environment),
  }
}

/** Returns a mistake that the configuration would report later, or without the name of the flag. */
function refuseOptions({ authPort, basePort, redirectUris = [] }: ServiceOptions, nameOf: NameOf): string | undefined {
  const badUri = redirectUris.map(refuseRedirectUri).find((problem) => problem !== undefined)
  if (badUri !== undefined) return `${nameOf('redirectUris')}: ${badUri}`
  return authPort === basePort && authPort !== 0
    ? `${nameOf('authPort')} and ${nameOf('basePort')} are both ${authPort}; they must differ`
    : undefined
}
