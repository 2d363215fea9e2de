/** Makes a value print as its label in Node, at any depth. Code and JSON still see its members. */
export function redacted<T extends object>(value: T, label: string): T {
  const print = { value: () => `${label} [redacted]` }
  return Object.freeze(
    Object.defineProperties(value, { [Symbol.for('nodejs.util.inspect.custom')]: print, toString: print }),
  )
}
