import type { Hono } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { OpenApiDocument } from './document.ts'
import { openApiDocument } from './document.ts'

/** Serves GET /openapi.json without authentication. The first request generates the document, so that the start stays quick. */
export function serveOpenApi(app: Hono<HttpEnvironment>, urls: { authUrl: string; baseUrl: string }): void {
  let generated: OpenApiDocument | undefined
  app.get('/openapi.json', (c) => {
    generated ??= openApiDocument(urls)
    return c.json(generated, 200, { 'Cache-Control': 'no-store' })
  })
}
