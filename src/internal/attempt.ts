/** What a parser returns, or undefined where it throws: its own error would quote what it read. */
export function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}
