/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import { showPage } from '../../ui/layout.tsx'

/**
 * Goes to the application from a page instead of a redirect, after the sign-in form: Chromium applies form-action to every
 * redirect after a form, and would stop at the application's URL without an error (S-013, A-50).
 */
export function showContinue(c: Context<HttpEnvironment>, url: string): Promise<Response> {
  const children = (
    <p>
      <a href={url}>Continue to the application</a>
    </p>
  )
  return showPage(c, { status: 200, title: 'One moment', forwardTo: url, children })
}
