import { ownMembers } from '../internal/plain-object.ts'
import { invalid } from './invalid.ts'

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
  if (!methods.every((method) => method in Object(value))) invalid(`${name} must be an object with ${listed(methods)}`)
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
    invalid(`${name} must not be localStorage or sessionStorage itself. Use indexedDbStorage() or webStorage(…) of it`)
}

function rejectUnknown(caller: string, name: string, names: readonly string[]): never {
  // Another name could be a secret value in the wrong place.
  if (!/^\w{1,24}$/.test(name)) invalid(`there is an unknown option of ${caller}`)
  invalid(`${name} is not an option of ${caller}, which has ${listed(names)}`)
}

function listed(names: readonly string[]): string {
  return names.join(', ').replace(/, (\w+)$/, ' and $1')
}
