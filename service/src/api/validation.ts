import type * as z from 'zod'
import { hasMediaType, readAtMost } from '../http/body.ts'
import { parseJson } from '../http/json.ts'
import { apiLimits, inKibibytes } from '../limits.ts'
import type { ValidationItem } from './api-error.ts'
import { ApiError, ValidationError } from './api-error.ts'
import { itemOf } from './validation-item.ts'

export const tooLargeText: string = `the body is over ${inKibibytes(apiLimits.bodyBytes)}`

/** Reads the JSON body, checked against its schema. The schema drops unknown members (S-073, S-074, A-54). */
export async function readBody<Schema extends z.ZodType>(request: Request, schema: Schema): Promise<z.output<Schema>> {
  if (!hasMediaType(request.headers, 'application/json')) {
    throw new ApiError({ status: 415, type: 'unsupported_media_type', message: 'the body must be application/json' })
  }
  const body = await readAtMost(request, apiLimits.bodyBytes)
  if (body.kind === 'too_large') {
    throw new ApiError({ status: 413, type: 'body_too_large', message: tooLargeText })
  }
  if (body.kind === 'not_utf8') throw invalidJson('the body is not UTF-8')
  const json = parseJson(body.text, { maxDepth: apiLimits.bodyDepth, repeatedMembers: 'last' })
  if (json.kind === 'too_deep') throw invalidJson(`the body nests deeper than ${apiLimits.bodyDepth}`)
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
  throw new ValidationError(
    result.error.issues.slice(0, apiLimits.validationItems).map((issue) => itemOf(issue, value, place)),
  )
}

function invalidJson(msg: string): ValidationError {
  const item: ValidationItem = { loc: ['body'], msg, type: 'json_invalid' }
  return new ValidationError([item])
}
