import { unreachedCodes } from '../store/engine/failures.ts'
import type { Environment } from './read-options.ts'
import { databaseOption } from './read-options.ts'

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
