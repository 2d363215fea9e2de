import * as z from 'zod/mini'

/** Refuses members that the shape does not name, because a misspelt one would have no effect. */
export function strict<Shape extends z.core.$ZodShape>(shape: Shape): z.ZodMiniObject<Shape, z.core.$strict> {
  return z.strictObject(shape, unknownMember(shape))
}

/** The error of an object for a member that its shape does not name. */
export function unknownMember(shape: object): { error: z.core.$ZodErrorMap } {
  const text = `is unknown; use ${Object.keys(shape).join(', ')}`
  return { error: ({ code }) => (code === 'unrecognized_keys' ? text : undefined) }
}

/** Returns the first mistake, with its path: `people[3].email: is missing`. It has no value, because that may be a secret. */
export function problemText(error: z.core.$ZodError): string {
  // A misspelt member is often the one that is missing elsewhere.
  const issue = error.issues.find(({ code }) => code === 'unrecognized_keys') ?? error.issues[0]
  if (issue === undefined) return 'is not valid'
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, ...issue.keys.slice(0, 1)] : issue.path
  if (path.length === 0 && issue.code === 'invalid_type') return 'must be an object'
  return path.length === 0 ? issueText(issue) : `${pathText(path)}: ${issueText(issue)}`
}

/** Writes a path as code does: `people[0].email`. Other text than a name may be a value in the wrong place, such as a secret. */
export function pathText(path: readonly PropertyKey[]): string {
  const nameOf = (step: string): string => (/^[\w$]{1,32}$/.test(step) ? step : '…')
  return path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${nameOf(String(step))}`))
    .join('')
    .replace(/^\./, '')
}

const kinds: Record<string, string> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

function issueText(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `must be ${listed(issue.values.map(String))}`
  if (issue.code === 'too_small') return `needs at least ${issue.minimum}`
  if (issue.code === 'too_big') return `may have at most ${issue.maximum}`
  if (issue.code !== 'invalid_type') return issue.message
  if (issue.input === undefined) return 'is missing'
  const isBare = issue.expected === 'string' && ['number', 'boolean'].includes(typeof issue.input)
  return `must be ${kinds[issue.expected] ?? issue.expected}${isBare ? '; write it in quotes' : ''}`
}

/** Writes choices for a message: `a, b or c`. */
export function listed(names: readonly string[]): string {
  return names.join(', ').replace(/, ([^,]*)$/, ' or $1')
}

/** Returns the first names for a message, which has at most 160 characters. */
export function firstNames(names: readonly string[]): string {
  return names.slice(0, 4).join(', ') + (names.length > 4 ? ', …' : '')
}
