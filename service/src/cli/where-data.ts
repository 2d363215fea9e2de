import { variableOf } from '../option-entry.ts'
import { serviceOptions } from '../options.ts'
import type { Environment, FlagValues } from './read-options.ts'
import { readOption } from './read-options.ts'

/** Returns the option that the URL of the database came from, for a message. A flag that says the same as a variable counts as that. */
export function databaseOption(databaseUrl: string, environment: Environment): string {
  const variables = [variableOf(serviceOptions.databaseUrl), 'DATABASE_URL']
  return variables.find((name) => environment[name] === databaseUrl) ?? `--${serviceOptions.databaseUrl.flag}`
}

/**
 * Returns where the data is kept. A flag wins over a variable, and `AGENT_SERVICE_DATA` over `DATABASE_URL`, which other programs read
 * as well. Without all of them, the data stays in memory.
 */
export function whereData(flags: FlagValues, environment: Environment): { dataFile?: string; databaseUrl?: string } {
  for (const [someFlags, someVariables] of [
    [flags, {}],
    [{}, environment],
  ] as const) {
    const dataFile = readOption(serviceOptions.dataFile, someFlags, someVariables)
    const databaseUrl = readOption(serviceOptions.databaseUrl, someFlags, someVariables)
    if (dataFile !== undefined || databaseUrl !== undefined) {
      return {
        ...(dataFile === undefined ? {} : { dataFile: String(dataFile) }),
        ...(databaseUrl === undefined ? {} : { databaseUrl: String(databaseUrl) }),
      }
    }
  }
  const { DATABASE_URL: databaseUrl } = environment
  return databaseUrl ? { databaseUrl } : {}
}
