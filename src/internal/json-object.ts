import { attempt } from './attempt.ts'

/** Returns the value if it is an object and no list. */
export function objectOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined
}

/** Returns the JSON object that the text is, or undefined for any other text. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  return objectOf(attempt((): unknown => JSON.parse(text)))
}
