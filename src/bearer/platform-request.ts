/**
 * Returns a function that returns the getter of `url`, which `fetch` uses. Undefined if the URL is a property that can be set, as on React
 * Native. It searches each global class once, because a search at each call would be a tenth of the cost of a call.
 */
export function urlGetter(): () => (() => unknown) | undefined {
  let known: typeof Request | undefined
  let getter: (() => unknown) | undefined
  return () => {
    const current = Request
    if (known !== current) getter = platformMember('url')?.get
    known = current
    return getter
  }
}

/** Returns a copy of what `fetch` would send, also if the Request is of a class with another `clone`. */
export function cloneOf(request: Request): Request {
  return platformMember('clone')?.value.call(request)
}

/**
 * Returns a member of the platform's own class, because a server can replace the global by a class that extends it, and such a
 * class can show another URL than the one that `fetch` uses.
 */
function platformMember(name: keyof Request): PropertyDescriptor | undefined {
  let member: PropertyDescriptor | undefined
  let level: object | null = Request.prototype
  while (level) {
    member = Object.getOwnPropertyDescriptor(level, name) ?? member
    level = Object.getPrototypeOf(level)
  }
  return member
}
