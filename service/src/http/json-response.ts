import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { HttpEnvironment } from './hono-environment.ts'

/** Returns a JSON response that no cache stores (S-038). */
export function jsonResponse(
  c: Context<HttpEnvironment>,
  value: unknown,
  status: ContentfulStatusCode = 200,
): Response {
  return jsonTextResponse(c, JSON.stringify(value), status)
}

/** Returns the same for text that is JSON already. */
export function jsonTextResponse(
  c: Context<HttpEnvironment>,
  text: string,
  status: ContentfulStatusCode = 200,
): Response {
  return c.body(text, status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'no-store',
  })
}
