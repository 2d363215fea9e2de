import type { Context } from 'hono'
import { hasMediaType, parseForm, readAtMost } from '../http/body.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { ownOrigins } from '../http/middleware/host-guard.ts'
import { requestLimits } from '../limits.ts'
import { showError } from '../ui/error.tsx'

/** Returns the value of a form field, or undefined if it was not sent or is empty. */
export type FormField = (name: string) => string | undefined

const notOwn = 'This form was not sent from a page of this service.'
const notForm = 'This URL accepts only form submissions (application/x-www-form-urlencoded).'
const tooLarge = 'The form is too large. Go back and shorten what you entered.'
const unreadable = 'The form data could not be read. Go back, reload the page and submit it again.'

/**
 * Reads a form that a page of this service posted (`formBytes`, 16 KiB). Anything else gets an error page: 403, 400, 413 or 415
 * (CSRF protection, S-024).
 */
export async function readInteractionForm(
  c: Context<HttpEnvironment>,
  maxBytes: number = requestLimits.formBytes,
): Promise<FormField | Response> {
  if (!isSameOrigin(c)) return showError(c, 403, notOwn)
  if (!hasMediaType(c.req.raw.headers, 'application/x-www-form-urlencoded')) return showError(c, 415, notForm)
  const body = await readAtMost(c.req.raw, maxBytes)
  if (body.kind === 'too_large') return showError(c, 413, tooLarge)
  const form = body.kind === 'text' ? parseForm(body.text) : undefined
  return form?.kind === 'fields' ? form.get : showError(c, 400, unreadable)
}

/**
 * Returns whether the browser reports that a page of this origin posted the form. Pages of this service send no referrer,
 * so their forms have `Origin: null`. A sandboxed frame has that too, but another Sec-Fetch-Site. The callers add the
 * other checks: `readRequestForm` for the login pages, clients/admin.ts and dev/dev-page.ts for their pages.
 */
function isSameOrigin(c: Context<HttpEnvironment>): boolean {
  const site = c.req.header('sec-fetch-site') ?? 'same-origin'
  const origin = c.req.header('origin') ?? 'null'
  if (site !== 'same-origin' && site !== 'none') return false
  return origin === 'null' || ownOrigins(c.get('service').config.authUrl).has(origin)
}
