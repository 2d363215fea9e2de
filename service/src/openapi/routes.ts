import type { Context, Hono, Next } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { sendPolicy, showApiPage } from './api-page.ts'
import type { OpenApiDocument } from './document.ts'
import { openApiDocument } from './document.ts'
import { createRenderer } from './renderer.ts'

/**
 * Serves GET /openapi.json and the page /docs without authentication. The first request generates the document and reads the files of
 * the page, so that the start stays quick.
 */
export function serveOpenApi(app: Hono<HttpEnvironment>, urls: { authUrl: string; baseUrl: string }): void {
  let generated: OpenApiDocument | undefined
  app.get('/openapi.json', (c) => {
    generated ??= openApiDocument(urls)
    return c.json(generated, 200, { 'Cache-Control': 'no-store' })
  })
  const rendererFile = createRenderer()
  app.get('/docs', async (c) => {
    if (!isOwnSpelling(c, urls.baseUrl)) return c.redirect(`${urls.baseUrl}/docs`)
    return showApiPage(c)
  })
  app.get('/docs/:name', async (c, next: Next) => {
    const file = await rendererFile(c.req.param('name'))
    if (file === undefined) return next()
    sendPolicy(c, urls.authUrl)
    return c.body(file.bytes, 200, { 'Content-Type': file.mediaType })
  })
}

/** The redirect URI of the page has the public origin, and a popup of another spelling of loopback could not hand over its code. */
function isOwnSpelling(c: Context<HttpEnvironment>, baseUrl: string): boolean {
  const host = c.req.header('host') ?? new URL(c.req.url).host
  return host.toLowerCase() === new URL(baseUrl).host
}
