import { invalid } from './invalid.ts'

/** What an option must be: a `typeof`, an array, an object with certain methods, or one of some texts. */
export type OptionKind =
  | 'string'
  | 'number'
  | 'function'
  | 'list'
  | { readonly methods: readonly string[]; readonly example?: string }
  | { readonly oneOf: readonly string[] }

/** A kind for each option: an option without one does not compile. */
export type OptionKinds<T> = { readonly [K in keyof T]-?: OptionKind }

/** For a value whose parts are checked by other code, which names them. */
export const checkedElsewhere: OptionKind = { methods: [] }

export const clockKind: OptionKind = { methods: ['wallMs', 'monotonicMs'] }

export const signalKind: OptionKind = { methods: ['addEventListener'] }

export const storageKind: OptionKind = {
  methods: ['getItem', 'setItem', 'removeItem'],
  example: 'webStorage(localStorage)',
}

/**
 * Throws `config_invalid` for an option that is unknown or of another kind, and names it. `undefined` counts as absent, and
 * what else a value must be is for the caller to check.
 */
export function checkOptions<T extends object>(caller: string, options: T, kinds: OptionKinds<T>): void {
  if (typeof options !== 'object' || !options || Array.isArray(options)) invalid(`${caller} needs an object of options`)
  const names = Object.keys(kinds) as (keyof T & string)[]
  checkNames(caller, options, names)
  for (const name of names) if (options[name] !== undefined) checkArgument(name, options[name], kinds[name])
}

/** Throws `config_invalid` for an option of another name, unless it is undefined. */
export function checkNames(caller: string, options: object, names: readonly string[]): void {
  for (const name of Object.keys(options))
    if (!names.includes(name) && Reflect.get(options, name) !== undefined) refuseUnknown(caller, name, names)
}

/** Throws `config_invalid` for a value that is absent or of another kind. */
export function checkArgument(name: string, value: unknown, kind: OptionKind): void {
  if (typeof kind === 'string') {
    if (kind === 'list' ? !Array.isArray(value) : typeof value !== kind) invalid(`${name} must be a ${kind}`)
  } else if ('oneOf' in kind) {
    if (!kind.oneOf.includes(value as string)) invalid(`${name} must be ${listed(kind.oneOf, 'or')}`)
    // Looked for, not read: where a browser blocks storage, reading throws, and that is for the session to report.
  } else if (!kind.methods.every((method) => method in Object(value))) {
    const example = kind.example ? `, such as ${kind.example}` : ''
    const hint = typeof value === 'function' ? '. Call the function that returns it' : example
    invalid(`${name} must be an object with ${listed(kind.methods, 'and')}${hint}`)
  }
}

function refuseUnknown(caller: string, name: string, names: readonly string[]): never {
  // A longer name, or one with other characters, may be a value in the wrong place.
  if (!/^\w{1,24}$/.test(name)) invalid(`there is an unknown option of ${caller}`)
  const meant = names.find((known) => isNear(name.toLowerCase(), known.toLowerCase(), 2))
  invalid(`${name} is not an option of ${caller}. ${meant ? `Use ${meant}` : 'Remove it'}`)
}

/** Whether so many insertions, removals and replacements of letters make one text of the other. */
function isNear(one: string, other: string, edits: number): boolean {
  const [rest, otherRest] = [one.slice(1), other.slice(1)]
  if (one === other) return true
  if (one[0] === other[0]) return isNear(rest, otherRest, edits)
  return (
    edits > 0 &&
    [
      [rest, other],
      [one, otherRest],
      [rest, otherRest],
    ].some(([a = '', b = '']) => isNear(a, b, edits - 1))
  )
}

function listed(names: readonly string[], word: 'and' | 'or'): string {
  return names.join(', ').replace(/, (\w+)$/, ` ${word} $1`)
}
