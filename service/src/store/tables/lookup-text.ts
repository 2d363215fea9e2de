/** Replaces NUL, which PostgreSQL refuses in a parameter, by a character that no stored id or address holds. */
export function lookupText(text: string): string {
  return text.replaceAll('\0', '\ufffd')
}
