import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import { showError } from '../pages/error.tsx'
import type { AuthorizationRequest } from '../store/authorization-requests.ts'
import { findOpenRequest } from '../store/authorization-requests.ts'
import { readCookie } from './cookies.ts'
import type { FormField } from './own-form.ts'
import { readOwnForm } from './own-form.ts'
import { hashToken } from './secrets.ts'

export interface FormPost {
  /** The request's raw id, as the page carries it. */
  id: string
  request: AuthorizationRequest
  get: FormField
}

/**
 * Reads a form of ours. It counts only with the id of a stored request that began in this very browser, which a
 * foreign page can neither know nor make up (S-024); everything else the form could say about the request is ignored.
 */
export async function readFormPost(c: Context<HttpEnvironment>): Promise<FormPost | Response> {
  const { store, clock } = c.get('service')
  const get = await readOwnForm(c)
  if (get instanceof Response) return get
  const id = get('request') ?? ''
  const browserHash = hashToken(readCookie(c, 'browser') ?? '')
  const request = await findOpenRequest(store.db, { idHash: hashToken(id), browserHash, nowMs: clock.nowMs() })
  if (request === undefined) {
    return showError(c, 400, 'This page has been used or is too old. Go back to your application and start again.')
  }
  return { id, request, get }
}
