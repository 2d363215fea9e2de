import type { Context } from 'hono'
import { hashToken } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import { requestLimits } from '../limits.ts'
import { readCookie } from '../sign-in/cookies.ts'
import type { FormField } from '../sign-in/interaction-form.ts'
import { readInteractionForm } from '../sign-in/interaction-form.ts'
import type { AuthorizationRequestRow } from '../store/tables/authorization-requests.ts'
import { findOpenRequest } from '../store/tables/authorization-requests.ts'
import { showError } from '../ui/error.tsx'
import { decryptRequest, rowOf } from './carried-request.ts'

/** A form of a page that belongs to an authorization request. */
export interface RequestForm {
  /** The field `request`: the id of a stored request, or a request that the sign-in page carries. */
  requestField: string
  /** The id of the request. */
  id: string
  request: AuthorizationRequestRow
  /** Whether the row is in the database, or only on the page. */
  kept: 'in-database' | 'on-page'
  get: FormField
}

/**
 * Reads a form of a page that this service showed. It counts only with a request that began in the same browser: a page
 * of another site can neither know nor make up one, which is the protection from CSRF (S-024). Everything else that the
 * form could say about the request is ignored.
 */
export async function readRequestForm(c: Context<HttpEnvironment>): Promise<RequestForm | Response> {
  const { store, clock } = c.get('service')
  const get = await readInteractionForm(c, requestLimits.longFormBytes)
  if (get instanceof Response) return get
  const requestField = get('request') ?? ''
  const browserHash = hashToken(readCookie(c, 'browser') ?? '')
  const nowMs = clock.nowMs()
  const stored = await findOpenRequest(store.db, { idHash: hashToken(requestField), browserHash, nowMs })
  if (stored !== undefined) return { requestField, id: requestField, request: stored, kept: 'in-database', get }
  const decrypted = await decryptRequest(c.get('service'), requestField)
  const isOpen = decrypted?.browserHash === browserHash && decrypted.expiresMs > nowMs
  return isOpen ? { requestField, id: decrypted.id, request: rowOf(decrypted), kept: 'on-page', get } : showTooOld(c)
}

/** The page for a request that was decided, has expired, or began before a reset. */
export function showTooOld(c: Context<HttpEnvironment>): Promise<Response> {
  return showError(c, 400, 'This page has been used or is too old. Go back to your application and start again.')
}
