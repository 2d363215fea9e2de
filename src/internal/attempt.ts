/** Returns the result of a parser, or undefined if it throws, because its error quotes the text. */
export function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}
