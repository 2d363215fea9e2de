import type * as z from 'zod'
import { inKibibytes } from '../byte-count.ts'
import { decodeText, hasMediaType, readBytesAtMost } from '../http/body.ts'
import { parseJson } from '../http/json.ts'
import { apiLimits } from '../limits.ts'
import type { ValidationItem } from './api-error.ts'
import { ApiError, ValidationError } from './api-error.ts'

export const tooLargeText: string = `the body is over ${inKibibytes(apiLimits.bodyBytes)}`

/** Reads the bytes of a JSON body (`apiLimits.bodyBytes`, 256 KiB; A-54). */
export async function readBody(request: Request): Promise<Uint8Array> {
  if (!hasMediaType(request.headers, 'application/json')) {
    throw new ApiError({ status: 415, type: 'unsupported_media_type', message: 'the body must be application/json' })
  }
  const body = await readBytesAtMost(request, apiLimits.bodyBytes)
  if (body.kind === 'too_large') {
    throw new ApiError({ status: 413, type: 'body_too_large', message: tooLargeText })
  }
  return body.bytes
}

/**
 * Parses a JSON body and checks it against its schema, which removes unknown members (S-073, S-074, A-54). It may nest
 * `apiLimits.bodyDepth`, 32 levels deep. Call it in the turn of the tenant, because it can take a tenth of a second of the
 * processor.
 */
export function checkBody<Schema extends z.ZodType>(bytes: Uint8Array, schema: Schema): z.output<Schema> {
  const body = decodeText(bytes)
  if (body.kind === 'not_utf8') throw invalidJson('the body is not UTF-8')
  const json = parseJson(body.text, { maxDepth: apiLimits.bodyDepth, repeatedMembers: 'last' })
  if (json.kind === 'too_deep') throw invalidJson(`the body nests deeper than ${apiLimits.bodyDepth}`)
  if (json.kind !== 'value') throw invalidJson('the body is not JSON')
  return validate(schema, json.value, 'body')
}

/** Checks a value against its schema. The 422 names the first faults (`validationItems`, 100). */
export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: 'body' | 'path',
): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new ValidationError(
    result.error.issues.slice(0, apiLimits.validationItems).map((issue) => itemOf(issue, value, place)),
  )
}

function invalidJson(msg: string): ValidationError {
  const item: ValidationItem = { loc: ['body'], msg, type: 'json_invalid' }
  return new ValidationError([item])
}

/** Turns a zod issue into an item of the 422 body. The service chose the names of `type`. */
function itemOf(issue: z.core.$ZodIssue, value: unknown, place: 'body' | 'path'): ValidationItem {
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))
  const input = valueAt(value, path)
  const base = { loc: [place, ...path], msg: issue.message }
  if (input === undefined && issue.code === 'invalid_type') return { ...base, msg: 'Field required', type: 'missing' }
  const ctx = contextOf(issue)
  const shown = input === undefined ? {} : { input: shorten(input) }
  return { ...base, type: typeOf(issue), ...shown, ...(ctx === undefined ? {} : { ctx }) }
}

function typeOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return /^(int|number)$/.test(issue.expected) ? 'integer_type' : `${issue.expected}_type`
    case 'too_small':
      return issue.origin === 'string' ? 'string_too_short' : 'greater_than_equal'
    case 'too_big':
      return issue.origin === 'string' ? 'string_too_long' : 'less_than_equal'
    case 'invalid_value':
      return 'enum'
    case 'custom':
      return typeof issue.params?.type === 'string' ? issue.params.type : 'value_error'
    default:
      return 'value_error'
  }
}

function contextOf(issue: z.core.$ZodIssue): Record<string, unknown> | undefined {
  if (issue.code === 'too_small')
    return issue.origin === 'string' ? { min_length: issue.minimum } : { ge: issue.minimum }
  if (issue.code === 'too_big') return issue.origin === 'string' ? { max_length: issue.maximum } : { le: issue.maximum }
  if (issue.code === 'invalid_value') return { expected: issue.values }
  return undefined
}

function valueAt(value: unknown, path: (string | number)[]): unknown {
  return path.reduce<unknown>((at, part) => {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined
    return (at as Record<string | number, unknown>)[part]
  }, value)
}

/** Returns enough of the input to recognize it (`shownInput`, 200 code units), and never a whole document (S-075, A-54). */
function shorten(input: unknown): unknown {
  if (typeof input === 'string') return input.slice(0, apiLimits.shownInput).replace(/\p{Cs}/gu, '\ufffd')
  if (typeof input !== 'object' || input === null) return input
  return Array.isArray(input) ? `array of ${input.length}` : 'object'
}
