const maxLength = 8_192
const token = /[\w!#$%&'*+.^`|~-]+/y
const quoted = /"((?:[^"\\]|\\.)*)"/y
const token68 = /[\w.~+/-]+=*(?=\s*(?:,|$))/y
const skip = /[\s,]*/y

/**
 * Whether a 401 says that a newer token would not help: a Bearer challenge with `insufficient_scope` or
 * `invalid_request`. No readable challenge means an expired token. RFC 6750 section 3.1, RFC 9110 section 11.6.1.
 */
export function refusesRetry(headers: Headers): boolean {
  const value = headers.get('www-authenticate')
  if (!value || value.length > maxLength) return false
  const error = bearerError(value)
  return error === 'insufficient_scope' || error === 'invalid_request'
}

/** The `error` of the first Bearer challenge that has one; several challenges may share the header. */
function bearerError(value: string): string | undefined {
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(value)
    if (match) at = pattern.lastIndex
    return match
  }
  let scheme = ''
  while (at < value.length) {
    take(skip)
    const name = take(token)?.[0].toLowerCase()
    if (name === undefined) return undefined
    if (!takeEquals()) {
      scheme = name
      // A space and then no parameter name: the scheme's one opaque value.
      take(/\s+/y)
      if (!/[\w!#$%&'*+.^`|~-]+\s*=\s*["\w]/y.test(value.slice(at, at + 64))) take(token68)
      continue
    }
    const text = take(quoted)?.[1]?.replace(/\\(.)/g, '$1') ?? take(token)?.[0]
    if (text === undefined) return undefined
    if (scheme === 'bearer' && name === 'error') return text
  }
  return undefined

  function takeEquals(): boolean {
    return take(/\s*=\s*/y) !== null
  }
}
