import { serviceOptions } from '../options.ts'
import { SeedError } from '../seed/seed-error.ts'
import { portFailureText } from '../server/port-failure.ts'
import { databaseFailureText } from './database-failure.ts'
import { databaseOption } from './where-data.ts'

/** Returns why the command failed and what to do. */
export function failureText(error: unknown, databaseUrl: string | undefined): string {
  const ofPort = portFailureText(error, { ports: '--auth-port and --base-port', host: '--host' })
  if (ofPort !== undefined) return ofPort
  const { message, cause } = error as { message?: unknown; cause?: unknown }
  // It begins with the file and names members of the seed, such as redirectUris, which are no flags.
  if (error instanceof SeedError) return error.message.replace(/^seed: /, '--seed: ')
  if (cause instanceof Error) return databaseFailureText(cause, databaseUrl)
  return typeof message === 'string' && message !== '' ? asTyped(message, databaseUrl) : 'the service did not start'
}

/** Names the options of `createServiceConfig` as the user of the command typed them. */
function asTyped(message: string, databaseUrl: string | undefined): string {
  // Of the short names, such as `dev`, only the first word of a message is one.
  return message.replace(/^[a-z]+\b|\b[a-z]+[A-Z]\w*/g, (name) => flagOf(name, databaseUrl) ?? name)
}

function flagOf(name: string, databaseUrl: string | undefined): string | undefined {
  if (name === 'databaseUrl' && databaseUrl !== undefined) return databaseOption(databaseUrl, process.env)
  const entry = Object.entries(serviceOptions).find(([option]) => option === name)?.[1]
  return entry === undefined ? undefined : `--${entry.flag}`
}
