import type { Context } from 'hono'
import { hasMediaType, parseForm, readText } from '../http/body.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { isOwnForm } from '../http/host-guard.ts'
import { showError } from '../ui/error.tsx'

/** A field of a form, when it was sent and is not empty. */
export type FormField = (name: string) => string | undefined

//
const usualBytes = 16 * 1_024

/** Reads a form that one of our own pages posted; the answer to anything else is a page. */
export async function readInteractionForm(
  c: Context<HttpEnvironment>,
  mostBytes: number = usualBytes,
): Promise<FormField | Response> {
  const { config } = c.get('service')
  if (!isOwnForm(c, config.authUrl)) return showError(c, 403, 'This form was not sent from a page of this service.')
  if (!hasMediaType(c.req.raw.headers, 'application/x-www-form-urlencoded')) {
    return showError(c, 415, 'This address takes a form.')
  }
  const body = await readText(c.req.raw, mostBytes)
  if (body.kind === 'too_large') return showError(c, 413, 'The form is too large.')
  const form = body.kind === 'text' ? parseForm(body.text) : undefined
  return form?.kind === 'fields' ? form.get : showError(c, 400, 'The form is damaged.')
}
