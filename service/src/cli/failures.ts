import { serviceOptions } from '../options.ts'
import { SeedError } from '../seed/seed-error.ts'
import { portFailureText } from '../server/port-failure.ts'
import type { ServiceOptions } from '../service-options.ts'
import { databaseFailureText } from './database-failure.ts'
import type { NameOf } from './read-command.ts'
import { databaseOption } from './read-options.ts'

/** Returns why the command failed and what to do. */
export function failureText(error: unknown, databaseUrl: string | undefined, nameOf: NameOf = flagNameOf): string {
  const ports = `${nameOf('authPort')} and ${nameOf('basePort')}`
  const ofPort = portFailureText(error, { ports, host: nameOf('host') })
  if (ofPort !== undefined) return ofPort
  const { message, cause } = error as { message?: unknown; cause?: unknown }
  // It begins with the file and names members of the seed, such as redirectUris, which are no flags.
  if (error instanceof SeedError) return error.message.replace(/^seed: /, `${nameOf('seed')}: `)
  if (cause instanceof Error) return databaseFailureText(cause, databaseUrl)
  return typeof message === 'string' && message !== ''
    ? asTyped(message, databaseUrl, nameOf)
    : 'the service did not start'
}

/** Names the options of `createServiceConfig` as the user of the command typed them. */
function asTyped(message: string, databaseUrl: string | undefined, nameOf: NameOf): string {
  // Of the short names, such as `dev`, only the first word of a message is one.
  return message.replace(/^[a-z]+\b|\b[a-z]+[A-Z]\w*/g, (name) => {
    if (name === 'databaseUrl' && databaseUrl !== undefined) return databaseOption(databaseUrl, process.env)
    return Object.hasOwn(serviceOptions, name) ? nameOf(name as keyof ServiceOptions) : name
  })
}

function flagNameOf(option: keyof ServiceOptions): string {
  return `--${serviceOptions[option].flag}`
}
