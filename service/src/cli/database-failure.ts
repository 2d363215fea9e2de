const unreachedCode = /^(?:ECONN|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE)/
/** `pg` gives these no code. */
const unreachedMessage = /^Connection terminated|^timeout exceeded when trying to connect/
const refusedPerson = ['28000', '28P01']
const noSuchDatabase = '3D000'

/** Why the data could not be opened, from what the database said, without user and password of the URL. */
export function databaseFailureText(cause: unknown, databaseUrl: string | undefined): string {
  const { code, message } = cause as { code?: unknown; message?: unknown }
  const named = typeof code === 'string' ? ` (${code})` : ''
  if (databaseUrl !== undefined) {
    const server = `PostgreSQL${placeOf(databaseUrl)}`
    const isUnreached = typeof code === 'string' ? unreachedCode.test(code) : unreachedMessage.test(String(message))
    if (isUnreached) return `${server} was not reached${named}: start it, or correct DATABASE_URL`
    if (refusedPerson.includes(String(code))) return `${server} refused the user${named}: correct DATABASE_URL`
    if (code === noSuchDatabase) return `${server} has no such database${named}: create it, or correct DATABASE_URL`
  }
  return `the database could not be brought up to date${named}`
}

/** Nothing of a URL that could be read in another way: a password with `/`, `?` or `#` in it would end the host. */
function placeOf(databaseUrl: string): string {
  if (!URL.canParse(databaseUrl)) return ''
  const { hostname, port, pathname, search, hash } = new URL(databaseUrl)
  const isPlain = hostname !== '' && !/@|[?&](?:host|port)=/.test(pathname + search + hash)
  return isPlain ? ` at ${hostname}:${port || 5432}` : ''
}
