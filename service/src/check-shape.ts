/** Returns whether a value has a shape. zod reports more, but loading it takes a tenth of a start. */
export type Check = (value: unknown) => boolean

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function wholeNumber(least: number, most: number = Number.MAX_SAFE_INTEGER): Check {
  return (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most
}

export function oneOf(...texts: string[]): Check {
  return (value) => isText(value) && texts.includes(value)
}

/** Accepts an object with these members and no others, so that a misspelt one is refused. */
export function object(members: Record<string, Check>): Check {
  return (value) =>
    isRecord(value) &&
    Object.keys(value).every((name) => Object.hasOwn(members, name)) &&
    Object.entries(members).every(([name, check]) => check(value[name]))
}

export function optional(check: Check): Check {
  return (value) => value === undefined || check(value)
}
