const maxChallengeLength = 8_192

/** Matches a parameter with its quoted or plain value, or a scheme with at most one opaque value. */
const item =
  /[\s,]*(?:([\w!#$%&'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([\w!#$%&'*+.^`|~-]+))|([\w!#$%&'*+.^`|~-]+)(?:\s*[\w.~+/-]+=*(?=\s*(?:,|$)))?)/gy

/**
 * Returns whether a 401 says that a newer token would not help: a Bearer challenge with `insufficient_scope` or `invalid_request`.
 * Without a readable challenge the token counts as expired. RFC 6750 section 3.1, RFC 9110
 * section 11.6.1.
 */
export function refusesRetry(headers: Headers): boolean {
  const value = headers.get('www-authenticate') ?? ''
  return value.length <= maxChallengeLength && /^(insufficient_scope|invalid_request)$/.test(bearerError(value) ?? '')
}

/** Returns the `error` of the first Bearer challenge that has one. Several challenges may share the header. */
function bearerError(value: string): string | undefined {
  let scheme: string | undefined
  for (const [, name, quoted, plain, next] of value.matchAll(item)) {
    if (next) scheme = next.toLowerCase()
    else if (scheme === 'bearer' && name?.toLowerCase() === 'error') return quoted?.replace(/\\(.)/g, '$1') ?? plain
  }
  return undefined
}
