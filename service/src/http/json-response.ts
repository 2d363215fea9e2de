import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { HttpEnvironment } from './environment.ts'

/** JSON that no cache keeps (S-038). */
export function jsonAnswer(c: Context<HttpEnvironment>, value: unknown, status: ContentfulStatusCode = 200): Response {
  return jsonTextAnswer(c, JSON.stringify(value), status)
}

/** The same for a value that is JSON already. */
export function jsonTextAnswer(
  c: Context<HttpEnvironment>,
  text: string,
  status: ContentfulStatusCode = 200,
): Response {
  return c.body(text, status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
}
