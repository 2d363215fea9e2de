/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import { raw } from 'hono/html'
import { type Child, isValidElement } from 'hono/jsx'
import type { HttpEnvironment } from '../http/environment.ts'
import { style, styleHash } from './style.ts'

export type PageStatus = 200 | 400 | 403 | 404 | 405 | 413 | 415 | 422 | 429 | 500 | 503

export interface Page {
  status: PageStatus
  title: string
  /** `wide` is for tables. */
  width?: 'narrow' | 'wide'
  /** Where the page goes by itself, at once. */
  forwardTo?: string
  /** The only script that may run, named by its hash; requests may then go to this origin. */
  script?: { text: string; hash: string }
  children: Child
}

function policyFor({ script }: Page): string {
  const scripted = script === undefined ? [] : [`script-src ${script.hash}`, "connect-src 'self'"]
  return [
    "default-src 'none'",
    `style-src ${styleHash}`,
    ...scripted,
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Every page goes out with the same strict headers: no foreign script, no frame, no cache, no referrer (S-012). */
export async function showPage(c: Context<HttpEnvironment>, page: Page): Promise<Response> {
  c.header('Content-Security-Policy', policyFor(page))
  c.header('X-Frame-Options', 'DENY')
  c.header('X-Content-Type-Options', 'nosniff')
  c.header('Referrer-Policy', 'no-referrer')
  c.header('Cache-Control', 'no-store')
  return c.html(`<!doctype html>${textOf(<Layout {...page} />)}`, page.status)
}

/**
 * What `toString` gives, without the AsyncLocalStorage that it starts for asynchronous components: from the first page on,
 * Node 20 would call a hook for every promise of the process. No component here is asynchronous.
 */
function textOf(page: unknown): string {
  const buffer = Object.assign([''], { callbacks: [] })
  if (isValidElement(page)) page.toStringToBuffer(buffer)
  const [text] = buffer
  if (!text || buffer.length > 1) throw new Error('a page is one element without asynchronous parts')
  return text
}

function Layout({ title, width = 'narrow', forwardTo, script, children }: Page) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        {forwardTo === undefined ? null : <meta http-equiv="refresh" content={`0;url=${forwardTo}`} />}
        <title>{title} · Agent Management Service</title>
        <style>{raw(style)}</style>
      </head>
      <body>
        <main class={width}>
          <p class="brand">Agent Management Service</p>
          <h1>{title}</h1>
          {children}
        </main>
        {script === undefined ? null : <script type="module">{raw(script.text)}</script>}
      </body>
    </html>
  )
}
