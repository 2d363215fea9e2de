import { ownMembers } from '../internal/plain-object.ts'
import { invalid } from './invalid.ts'

/** The kind of an option: a `typeof`, an array, an object with certain methods, or one of some texts. */
export type OptionKind =
  | 'string'
  | 'number'
  | 'function'
  | 'object'
  | 'list'
  | { readonly methods: readonly string[]; readonly example?: string }
  | { readonly oneOf: readonly string[] }

/** The kind of each option. An option without one does not compile. */
export type OptionKinds<T> = { readonly [K in keyof T]-?: OptionKind }

/** The kind of a value whose parts other code checks and names. */
export const checkedElsewhere: OptionKind = { methods: [] }

export const clockKind: OptionKind = { methods: ['wallMs', 'monotonicMs'] }

export const signalKind: OptionKind = { methods: ['addEventListener'] }

const methods: readonly string[] = ['getItem', 'setItem', 'removeItem']

/** A storage of pending logins, or an area of the browser. */
export const recordsKind: OptionKind = { methods, example: 'sessionStorage or memoryStorage()' }

/** A storage of tokens. An area of the browser does not know which tabs share it, and has no lock. */
export const storageKind: { readonly methods: readonly string[]; readonly example: string } = {
  methods,
  example: 'indexedDbStorage() in a page, or memoryStorage()',
}

/**
 * Returns a copy of the options. Throws `config_invalid` for an option that is unknown or of another kind, and names it.
 * `undefined` counts as absent, and so does `null` in the place of a signal, as in `fetch`. The caller checks the values further.
 */
export function checkOptions<T extends object>(caller: string, options: T, kinds: OptionKinds<T>, _remedy?: string): T {
  const names = Object.keys(kinds) as (keyof T & string)[]
  const own = checkNames(caller, options, names)
  for (const name of names) {
    const isAbsent = own[name] === undefined || (own[name] === null && kinds[name] === signalKind)
    if (!isAbsent) checkArgument(name, own[name], kinds[name])
  }
  return own
}

/** Returns a copy of the options. Throws `config_invalid` for an option of another name, unless it is undefined. */
export function checkNames<T extends object>(caller: string, options: T, names: readonly string[]): T {
  if (typeof options !== 'object' || !options || Array.isArray(options)) invalid(`${caller} needs an object of options`)
  // Own members alone, because another script of the page may have added members to the prototype of all objects.
  const own = ownMembers(options)
  for (const name of Object.keys(own) as (keyof T & string)[])
    if (!names.includes(name) && own[name] !== undefined) rejectUnknown(caller, name, names)
  return own
}

/** Throws `config_invalid` for a value that is neither a signal nor absent, such as the controller of one. `null` counts as absent, as in `fetch`. */
export function checkSignal(signal: AbortSignal | null | undefined): void {
  if (signal == null) return
  if (typeof signal.aborted !== 'boolean' || typeof signal.addEventListener !== 'function')
    invalid('signal must be an AbortSignal, such as the signal of a controller')
}

/** Throws `config_invalid` for a value that has not these methods. */
export function checkMethods(name: string, value: unknown, methods: readonly string[]): void {
  checkAwaited(name, value)
  // `in` does not read the members, because reading throws if a browser blocks storage.
  if (!methods.every((method) => method in Object(value)))
    invalid(`${name} must be an object with ${listed(methods, 'and')}`)
}

/** Throws `config_invalid` for a promise of the value, because its caller left out `await`. */
export function checkAwaited(name: string, value: unknown): void {
  if (value instanceof Promise) invalid(`${name} is a promise. Write await before the call that returns it`)
}

/** Throws `config_invalid` for a value that is absent or of another kind. */
export function checkArgument(name: string, value: unknown, kind: OptionKind): void {
  checkAwaited(name, value)
  if (typeof kind === 'string') {
    if ((Array.isArray(value) ? 'list' : typeof value) !== kind)
      invalid(`${name} must be a${kind === 'object' ? 'n' : ''} ${kind}`)
  } else if ('oneOf' in kind) {
    if (!kind.oneOf.includes(value as string)) invalid(`${name} must be ${listed(kind.oneOf, 'or')}`)
    // `in` does not read the members, because reading throws if a browser blocks storage, and the session reports that.
  } else if (!kind.methods.every((method) => method in Object(value))) {
    const example = kind.example ? `, such as ${kind.example}` : ''
    const hint = typeof value === 'function' ? '. Call the function that returns it' : example
    invalid(`${name} must be an object with ${listed(kind.methods, 'and')}${hint}`)
  } else if (kind === storageKind && Object.prototype.toString.call(value) === '[object Storage]')
    invalid(`${name} must not be localStorage or sessionStorage itself. Use indexedDbStorage() or webStorage(…) of it`)
}

function rejectUnknown(caller: string, name: string, names: readonly string[]): never {
  // Another name could be a secret value in the wrong place.
  if (!/^\w{1,24}$/.test(name)) invalid(`there is an unknown option of ${caller}`)
  invalid(`${name} is not an option of ${caller}, which has ${listed(names, 'and')}`)
}

/** Returns whether at most so many insertions, removals and replacements of letters turn one text into the other. */
export function isNear(one: string, other: string, edits: number): boolean {
  if (edits < 0) return false
  if (one === other) return true
  const [rest, otherRest] = [one.slice(1), other.slice(1)]
  if (one[0] === other[0]) return isNear(rest, otherRest, edits)
  return isNear(rest, other, edits - 1) || isNear(one, otherRest, edits - 1) || isNear(rest, otherRest, edits - 1)
}

function listed(names: readonly string[], word: 'and' | 'or'): string {
  return names.join(', ').replace(/, (\w+)$/, ` ${word} $1`)
}
