import type { Hono } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import type { OpenApiDocument } from './document.ts'
import { openApiDocument } from './document.ts'
import { showApiDocs } from './views/api-docs.tsx'

/** Serves GET /openapi.json and the page /docs without authentication. The first request generates the document, so that the start stays quick. */
export function serveOpenApi(app: Hono<HttpEnvironment>, urls: { authUrl: string; baseUrl: string }): void {
  let generated: OpenApiDocument | undefined
  const document = (): OpenApiDocument => {
    generated ??= openApiDocument(urls)
    return generated
  }
  app.get('/openapi.json', (c) => c.json(document(), 200, { 'Cache-Control': 'no-store' }))
  app.get('/docs', (c) => showApiDocs(c, document()))
}
