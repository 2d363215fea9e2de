/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/environment.ts'
import { showPage } from '../../ui/layout.tsx'

/**
 * Leaves for the application from a page instead of a redirect, after the sign-in form: Chromium applies form-action to
 * every hop after a form, and would silently stop at the application's address (S-013, A-50).
 */
export function showContinue(c: Context<HttpEnvironment>, url: string): Promise<Response> {
  const children = (
    <p>
      <a href={url}>Continue to the application</a>
    </p>
  )
  return showPage(c, { status: 200, title: 'One moment', forwardTo: url, children })
}
