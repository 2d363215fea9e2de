import type { Context } from 'hono'
import { hasMediaType, parseForm, readText } from '../http/body.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { isOwnForm } from '../http/host-guard.ts'
import { showError } from '../pages/error.tsx'
import type { AuthorizationRequest } from '../store/authorization-requests.ts'
import { findOpenRequest } from '../store/authorization-requests.ts'
import { readCookie } from './cookies.ts'
import { hashToken } from './secrets.ts'

export interface FormPost {
  /** The request's raw id, as the page carries it. */
  id: string
  request: AuthorizationRequest
  get(name: string): string | undefined
}

const mostBytes = 16 * 1_024

/**
 * Reads a form of ours. It counts only with the id of a stored request that began in this very browser, which a
 * foreign page can neither know nor make up (S-024); everything else the form could say about the request is ignored.
 */
export async function readFormPost(c: Context<HttpEnvironment>): Promise<FormPost | Response> {
  const { config, store, clock } = c.get('service')
  if (!isOwnForm(c, config.authUrl)) return showError(c, 403, 'This form was not sent from a page of this service.')
  if (!hasMediaType(c.req.raw.headers, 'application/x-www-form-urlencoded')) {
    return showError(c, 415, 'This address takes a form.')
  }
  const body = await readText(c.req.raw, mostBytes)
  if (body.kind === 'too_large') return showError(c, 413, 'The form is too large.')
  const form = body.kind === 'text' ? parseForm(body.text) : undefined
  if (form?.kind !== 'fields') return showError(c, 400, 'The form is damaged.')
  const id = form.get('request') ?? ''
  const browserHash = hashToken(readCookie(c, 'browser') ?? '')
  const request = await findOpenRequest(store.db, { idHash: hashToken(id), browserHash, nowMs: clock.nowMs() })
  if (request === undefined) {
    return showError(c, 400, 'This page has been used or is too old. Go back to your application and start again.')
  }
  return { id, request, get: form.get }
}
