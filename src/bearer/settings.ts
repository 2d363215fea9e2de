/** What `fetch(request, settings)` takes away from a Request; all else of it stays, but for the mode `navigate`. */
const taken = ['referrer', 'referrerPolicy', 'targetAddressSpace']

/**
 * Returns the settings as `fetch` reads them, and what they would take away from a Request: inherited members count,
 * undefined ones do not. Web IDL, dictionary types; Fetch, the Request constructor.
 */
export function settingsOf(init: RequestInit | null | undefined, request: Request | undefined): RequestInit {
  // Without a prototype, so that a member named __proto__ is one like any other.
  const settings: Record<string, unknown> = Object.create(null)
  const add = (from: object, names: readonly string[]): void => {
    for (const name of names) {
      const value: unknown = Reflect.get(from, name)
      if (value !== undefined) settings[name] = value
    }
  }
  if (request) add(request, taken)
  let level: object | null = init ?? null
  while (init && level && level !== Object.prototype) {
    add(init, Object.getOwnPropertyNames(level))
    level = Object.getPrototypeOf(level)
  }
  return settings
}
