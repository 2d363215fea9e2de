import { serviceOptions } from '../options.ts'
import { SeedError } from '../seed/world.ts'
import { portFailureText } from '../server/start-service.ts'
import type { ServiceOptions } from '../service-options.ts'
import { unreachedCodes } from '../store/failures.ts'
import { databaseOption, type Environment, type NameOf } from './read-command.ts'

/** `pg` gives these errors no code. */
const unreachedMessage = /^Connection terminated|^timeout exceeded when trying to connect/
const refusedUser: ReadonlySet<unknown> = new Set(['28000', '28P01'])
/** An expression, because extended result codes of SQLite begin with that of their class. */
const damaged = /^SQLITE_(?:NOTADB|CORRUPT)/
const noSuchDatabase = '3D000'

/** Returns why the database could not be opened, without the user and the password of its URL. */
export function databaseFailureText(
  cause: unknown,
  databaseUrl: string | undefined,
  environment: Environment = process.env,
): string {
  const { code, message } = cause as { code?: unknown; message?: unknown }
  const named = typeof code === 'string' ? ` (${code})` : ''
  if (databaseUrl !== undefined) {
    const option = databaseOption(databaseUrl, environment)
    const server = `PostgreSQL${placeOf(databaseUrl)}`
    const isUnreached = typeof code === 'string' ? unreachedCodes.has(code) : unreachedMessage.test(String(message))
    if (isUnreached) return `${server} was not reached${named}: start it, or correct ${option}`
    if (refusedUser.has(code)) return `${server} refused the user${named}: correct ${option}`
    if (code === noSuchDatabase) return `${server} has no such database${named}: create it, or correct ${option}`
  }
  if (damaged.test(String(code)))
    return `the data file is damaged${named}: restore it, or choose another path with --data`
  return `could not open or migrate the database${named}; check that this user can read and write it`
}

/** Returns host and port if the URL is unambiguous, because a password with `/`, `?` or `#` could be read as part of the host. */
function placeOf(databaseUrl: string): string {
  if (!URL.canParse(databaseUrl)) return ''
  const { hostname, port, pathname, search, hash } = new URL(databaseUrl)
  const isPlain = hostname !== '' && !/@|[?&](?:host|port)=/.test(pathname + search + hash)
  return isPlain ? ` at ${hostname}:${port || 5432}` : ''
}

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
