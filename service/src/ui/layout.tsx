/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import { html, raw } from 'hono/html'
import { type Child, isValidElement } from 'hono/jsx'
import type { HtmlEscapedString } from 'hono/utils/html'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { style, styleHash } from './style.ts'

export type PageStatus = 200 | 400 | 403 | 404 | 405 | 413 | 415 | 422 | 429 | 500 | 503

export interface Page {
  status: PageStatus
  title: string
  /** `wide` is for tables. */
  width?: 'narrow' | 'wide'
  /** Where forms and the redirects behind them may lead. Default: to this origin (A-50). */
  formsLead?: 'anywhere'
  /** The URL that the page navigates to at once. */
  forwardTo?: string
  /** The only script that may run, allowed by its hash. It may send requests to this origin. */
  script?: { text: string; hash: string }
  children: Child
}

type Html = HtmlEscapedString | Promise<HtmlEscapedString>

function policyFor({ script, formsLead }: Page): string {
  const scripted = script === undefined ? [] : [`script-src ${script.hash}`, "connect-src 'self'"]
  return [
    "default-src 'none'",
    `style-src ${styleHash}`,
    ...scripted,
    ...(formsLead === 'anywhere' ? [] : ["form-action 'self'"]),
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Sends a page with headers that allow no script of others (XSS), no frame (clickjacking), no cache and no referrer (S-012). */
export async function showPage(c: Context<HttpEnvironment>, page: Page): Promise<Response> {
  c.header('Content-Security-Policy', policyFor(page))
  const trace = c.get('trace')
  if (trace !== undefined) trace.page = page.title
  c.header('X-Frame-Options', 'DENY')
  c.header('Referrer-Policy', 'no-referrer')
  c.header('Cache-Control', 'no-store')
  // The Node server sends text at once. For the object that `html` returns it makes a Response with a stream.
  return c.html(String(await textOf(page)), page.status)
}

/**
 * Renders a page as text. Hono's components for the head of a page, and `toString` of an element, start an
 * AsyncLocalStorage for asynchronous components. From then on Node 20 calls a hook for every promise of the process. The
 * frame is a template instead, and no component is asynchronous.
 */
function textOf({ title, width = 'narrow', forwardTo, script, children }: Page): Html {
  const forward = forwardTo === undefined ? '' : html`<meta http-equiv="refresh" content="0;url=${forwardTo}" />`
  const main = <Main title={title} width={width} content={children} />
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${forward}
        <title>${title} · Agent Management Service</title>
        <style>${raw(style)}</style>
      </head>
      <body>
        ${raw(elementText(main))}
        ${script === undefined ? '' : html`<script type="module">${raw(script.text)}</script>`}
      </body>
    </html>`
}

function elementText(element: unknown): string {
  const buffer = Object.assign([''], { callbacks: [] })
  if (isValidElement(element)) element.toStringToBuffer(buffer)
  const [text] = buffer
  if (!text || buffer.length > 1) throw new Error('a page is one element without asynchronous parts')
  return text
}

function Main({ title, width, content }: { title: string; width: 'narrow' | 'wide'; content: Child }) {
  return (
    <main class={width}>
      <p class="brand">Agent Management Service</p>
      <h1>{title}</h1>
      {content}
    </main>
  )
}
