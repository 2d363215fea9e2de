import type { Environment } from './read-options.ts'
import { databaseOption } from './where-data.ts'

const unreachedCode = /^(?:ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE)/
/** `pg` gives these errors no code. */
const unreachedMessage = /^Connection terminated|^timeout exceeded when trying to connect/
const refusedUser = ['28000', '28P01']
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
    const isUnreached = typeof code === 'string' ? unreachedCode.test(code) : unreachedMessage.test(String(message))
    if (isUnreached) return `${server} was not reached${named}: start it, or correct ${option}`
    if (refusedUser.includes(String(code))) return `${server} refused the user${named}: correct ${option}`
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
