import { bareObject } from '../internal/bare-object.ts'

/** The members of a Request that `fetch(request, settings)` discards. All others stay, except for the mode `navigate`. */
const discarded = ['referrer', 'referrerPolicy', 'targetAddressSpace']

/**
 * Returns the settings as `fetch` reads them, with the members that they would discard from a Request. Inherited members count,
 * undefined ones do not. Web IDL, dictionary types; Fetch, the Request constructor.
 */
export function settingsOf(init: RequestInit | null | undefined, request: Request | undefined): RequestInit {
  // Without the prototype of all objects, so that a member named __proto__ has no effect.
  const settings = bareObject<Record<string, unknown>>()
  const add = (from: object, names: readonly string[]): void => {
    for (const name of names) {
      const value: unknown = Reflect.get(from, name)
      if (value !== undefined) settings[name] = value
    }
  }
  if (request) add(request, discarded)
  let level: object | null = init ?? null
  while (init && level && level !== Object.prototype) {
    add(init, Object.getOwnPropertyNames(level))
    level = Object.getPrototypeOf(level)
  }
  return settings
}
