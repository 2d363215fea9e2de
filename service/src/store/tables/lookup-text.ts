/** Text of anybody's making, to be looked up: PostgreSQL refuses NUL, and no row holds the sign that stands for it. */
export function lookupText(text: string): string {
  return text.replaceAll('\0', '\ufffd')
}
