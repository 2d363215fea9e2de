import { AgentAuthError } from '../errors.ts'

/** Returns the result of a parser, or undefined if it throws, because its error quotes the text. */
export function attempt<T>(parse: () => T): T | undefined {
  try {
    return parse()
  } catch {
    return undefined
  }
}

/** Has no members, and no prototype with any. V8 makes an object whose prototype is null a hash table, which is slow. */
const bare = /* @__PURE__ */ Object.freeze(/* @__PURE__ */ Object.create(null))

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

/** Returns the own members of a JSON object, or of one that a storage parsed itself. Returns undefined for any other value. */
export function parseObject(value: unknown): Record<string, unknown> | undefined {
  const object = objectOf(typeof value === 'string' ? attempt((): unknown => JSON.parse(value)) : value)
  return object && ownMembers(object)
}

/** Throws `config_invalid`. `what` names the option and the values it can have, never the value it has. */
export function invalid(what: string): never {
  throw new AgentAuthError('config_invalid', `Configuration: ${what}.`)
}

/** Returns a copy of the options. Throws `config_invalid` for an option of another name, unless it is undefined. */
export function checkNames<T extends object>(caller: string, options: T, names: readonly string[]): T {
  if (!objectOf(options)) invalid(`${caller} needs an object of options`)
  // Own members alone, because another script of the page may have added members to the prototype of all objects.
  const own = ownMembers(options)
  for (const name of Object.keys(own) as (keyof T & string)[]) {
    if (names.includes(name) || own[name] === undefined) continue
    // Text of another form could be a secret value in the wrong place.
    invalid(`${/^\w{1,24}$/.test(name) ? name : 'a name'} is not an option of ${caller}, which has ${names.join(', ')}`)
  }
  return own
}

/** Throws `config_invalid` for a value that is neither a signal nor absent, such as the controller of one. `null` counts as absent, as in `fetch`. */
export function checkSignal(signal: AbortSignal | null | undefined): void {
  if (signal != null && typeof signal.addEventListener !== 'function') invalid('signal must be an AbortSignal')
}

/** Throws `config_invalid` for a value that has not these methods. */
export function checkMethods(name: string, value: unknown, methods: readonly string[]): void {
  checkAwaited(name, value)
  // `in` does not read the members, because reading throws if a browser blocks storage.
  if (!methods.every((method) => method in Object(value)))
    invalid(`${name} must be an object with ${methods.join(', ')}`)
}

/** Throws `config_invalid` for a promise of the value, because its caller left out `await`. */
export function checkAwaited(name: string, value: unknown): void {
  if (value instanceof Promise) invalid(`${name} is a promise. Write await before the call that returns it`)
}

/** The methods of a storage without a lock. */
export const recordMethods: readonly string[] = ['getItem', 'setItem', 'removeItem']

/**
 * Throws `config_invalid` for a value that is no storage of tokens. An area of the browser is none, because it does not know which tabs
 * share it, and has no lock.
 */
export function checkStorage(name: string, storage: unknown): void {
  checkMethods(name, storage, recordMethods)
  if (Object.prototype.toString.call(storage) === '[object Storage]')
    invalid(`${name} must not be localStorage or sessionStorage. Use indexedDbStorage()`)
}

/** Throws `config_invalid` for a value that is none of the listed ones. */
export function checkOneOf(name: string, value: string, values: readonly string[]): void {
  if (!values.includes(value)) invalid(`${name} must be ${values.join(' or ')}`)
}
