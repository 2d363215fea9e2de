import type * as z from 'zod'
import { inKibibytes } from '../byte-count.ts'
import { decodeText, hasMediaType, readBytesAtMost } from '../http/body.ts'
import { apiLimits } from '../limits.ts'
import type { TenantStore } from '../store/tenant-store.ts'
import type { ValidationItem } from './envelope.ts'
import { ApiError, ValidationError } from './envelope.ts'

/** What an endpoint gets of a call that may run. */
export interface ApiCall {
  /** The data of the tenant of the bearer token. */
  tenant: TenantStore
  /** The body, which is empty for a GET. */
  bytes: Uint8Array
  /** Returns a parameter of the path. */
  param(name: string): string | undefined
  nowMs: number
}

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

/** Parses a JSON body and checks it against its schema, which removes unknown members. */
export function checkBody<Schema extends z.ZodType>(bytes: Uint8Array, schema: Schema): z.output<Schema> {
  const body = decodeText(bytes)
  if (body.kind === 'not_utf8') throw invalidJson('the body is not UTF-8')
  let value: unknown
  try {
    value = JSON.parse(body.text)
  } catch {
    throw invalidJson('the body is not JSON')
  }
  return validate(schema, value, 'body')
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
    result.error.issues
      .flatMap(meant)
      .slice(0, apiLimits.validationItems)
      .map((issue) => itemOf(issue, value, place)),
  )
}

/** Of a union whose options all fail, returns what is wrong with the option that was meant: the one that got furthest. */
function meant(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union' || issue.errors.length === 0) return [issue]
  const [best = []] = issue.errors.toSorted((one, other) => reach(other) - reach(one))
  return best.flatMap((inner) => meant({ ...inner, path: [...issue.path, ...inner.path] }))
}

function reach([first]: z.core.$ZodIssue[]): number {
  return (first?.path.length ?? 0) + (first?.code === 'invalid_type' ? 0 : 1)
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
  if (input === undefined && issue.code !== 'custom') return { ...base, msg: 'Field required', type: 'missing' }
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
      if (issue.origin === 'array') return 'too_many'
      return issue.origin === 'string' ? 'string_too_long' : 'less_than_equal'
    case 'invalid_value':
    case 'invalid_union':
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
