const maxChallengeLength = 8_192

/**
 * Returns whether a 401 says that a newer token would not help: a Bearer challenge with `insufficient_scope` or `invalid_request`.
 * Several challenges may share the header. Without a readable challenge the token counts as expired. RFC 6750 section 3.1, RFC 9110
 * section 11.6.1.
 */
export function refusesRetry(headers: Headers): boolean {
  const value = headers.get('www-authenticate') ?? ''
  if (value.length > maxChallengeLength) return false
  // A quoted text that is no plain word is none of the codes.
  const unquoted = value.replace(/"((?:[^"\\]|\\.)*)"?/g, (_, text: string) => {
    const word = text.replaceAll('\\', '')
    return /^\w+$/.test(word) ? word : '_'
  })
  let scheme = ''
  for (const [, name = '', code] of unquoted.toLowerCase().matchAll(/([\w-]+)\s*(?:=\s*(\w+))?/g)) {
    if (!code) scheme = name
    else if (scheme === 'bearer' && name === 'error') return /^(insufficient_scope|invalid_request)$/.test(code)
  }
  return false
}
