import { bareObject } from '../internal/bare-object.ts'

/**
 * Returns the settings as `fetch` reads them, with the members that they would discard from a Request. Inherited members count,
 * undefined ones do not. Web IDL, dictionary types; Fetch, the Request constructor.
 */
export function settingsOf(init: RequestInit | null | undefined, request: Request | undefined): RequestInit {
  // Without the prototype of all objects, so that a member named __proto__ has no effect.
  const settings = bareObject<Record<string, unknown>>()
  if (request) {
    // `fetch(request, settings)` discards these members of a Request. All others stay, except for the mode `navigate`.
    const { referrer, referrerPolicy, targetAddressSpace } = request as Request & { targetAddressSpace?: string }
    settings.referrer = referrer
    settings.referrerPolicy = referrerPolicy
    if (targetAddressSpace !== undefined) settings.targetAddressSpace = targetAddressSpace
  }
  let level: object | null = init ?? null
  while (init && level && level !== Object.prototype) {
    for (const name of Object.getOwnPropertyNames(level)) {
      const value: unknown = Reflect.get(init, name)
      if (value !== undefined) settings[name] = value
    }
    level = Object.getPrototypeOf(level)
  }
  return settings
}
