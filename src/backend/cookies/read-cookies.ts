/** The headers of a request, of which only `cookie` is read. */
export type CookieHeader = Pick<Headers, 'get'>

/** Returns the values of a request's cookies by name, the first of each name. RFC 6265 section 4.2.1. */
export function readCookies({ headers }: { readonly headers: CookieHeader }): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of (headers.get('cookie') ?? '').split(';')) {
    const at = pair.indexOf('=')
    const name = trimmed(pair.slice(0, at))
    if (at > 0 && !cookies.has(name)) cookies.set(name, trimmed(pair.slice(at + 1)))
  }
  return cookies
}

/**
 * Removes spaces and tabs only, not all white space as `trim` does. A sibling domain can set a cookie whose name begins with another
 * kind of white space, such as U+00A0, and continues with `__Host-`. With `trim`, that would become the name of this app's cookie. The
 * pattern is greedy. A lazy one (`.*?[ \t]*$`) would take quadratic time.
 */
function trimmed(text: string): string {
  return /^[ \t]*((?:.*[^ \t])?)/s.exec(text)?.[1] ?? ''
}
