/** Has no members, and no prototype with any. V8 makes an object whose prototype is null a hash table, which is slow. */
const bare = Object.freeze(Object.create(null))

/** Returns the own members of a value, because another script may have added members to the prototype of all objects. */
export function ownMembers<T extends object>(value: T): T
export function ownMembers<T extends object>(value: T | null | undefined): Partial<T>
export function ownMembers(value: object | null | undefined): object {
  return Object.assign(Object.create(bare), value)
}

/** Returns the members that are not undefined. */
export function present<T extends object>(members: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T
}

/** Makes a value print as its label in Node, at any depth. Code and JSON still see its members. */
export function redacted<T extends object>(value: T, label: string): T {
  const print = { value: () => `${label} [redacted]` }
  return Object.freeze(
    Object.defineProperties(value, { [Symbol.for('nodejs.util.inspect.custom')]: print, toString: print }),
  )
}

/** Returns the value if it is an object and no list. */
export function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
}

/** Returns the own members of the JSON object that the text is, or undefined for any other text. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  const value = objectOf(attempt((): unknown => JSON.parse(text)))
  return value && ownMembers(value)
}

/** Returns the result of a parser, or undefined if it throws, because its error quotes the text. */
export function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}
