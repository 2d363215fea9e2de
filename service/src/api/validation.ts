import type * as z from 'zod'
import { hasMediaType, readAtMost } from '../http/body.ts'
import { parseJson } from '../http/json.ts'
import type { ValidationItem } from './api-error.ts'
import { ApiError, ValidationError } from './api-error.ts'
import { itemOf } from './validation-item.ts'

//
const mostBytes = 256 * 1_024
const maxDepth = 32
const mostItems = 100

/** The JSON body, checked against its schema. Unknown members are dropped by the schema (S-073, S-074). */
export async function readBody<Schema extends z.ZodType>(request: Request, schema: Schema): Promise<z.output<Schema>> {
  if (!hasMediaType(request.headers, 'application/json')) {
    throw new ApiError({ status: 415, type: 'unsupported_media_type', message: 'the body must be application/json' })
  }
  const body = await readAtMost(request, mostBytes)
  if (body.kind === 'too_large') {
    throw new ApiError({ status: 413, type: 'body_too_large', message: 'the body is over 256 KiB' })
  }
  if (body.kind === 'not_utf8') throw invalidJson('the body is not UTF-8')
  const json = parseJson(body.text, { maxDepth, repeatedMembers: 'last' })
  if (json.kind === 'too_deep') throw invalidJson(`the body nests deeper than ${maxDepth}`)
  if (json.kind !== 'value') throw invalidJson('the body is not JSON')
  return validate(schema, json.value, 'body')
}

export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: 'body' | 'path',
): z.output<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new ValidationError(result.error.issues.slice(0, mostItems).map((issue) => itemOf(issue, value, place)))
}

function invalidJson(msg: string): ValidationError {
  const item: ValidationItem = { loc: ['body'], msg, type: 'json_invalid' }
  return new ValidationError([item])
}
