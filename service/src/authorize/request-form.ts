import type { Context } from 'hono'
import { hashToken } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
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
 * Reads a form of a page that belongs to an authorization request (`longFormBytes`, 32 KiB). The CSRF protection (S-024) has three
 * checks:
 *
 * 1. The browser reports that a page of this origin posted the form (`readInteractionForm`).
 * 2. The field `request` names or carries a request that began in the same browser. This function checks it against the
 *    browser's cookie. Another site knows no such request and cannot make one.
 * 3. The consent form holds the token of its page, and the sign-in session is the one that saw the page
 *    (`decideRequest`).
 *
 * Client, redirect URI and scope come from the request. The form's other fields cannot change them.
 */
export async function readRequestForm(c: Context<HttpEnvironment>): Promise<RequestForm | Response> {
  const { store, clock } = c.get('service')
  const get = await readInteractionForm(c, requestLimits.longFormBytes)
  if (get instanceof Response) return get
  const trace = c.get('trace')
  if (trace !== undefined) trace.fields = get
  const requestField = get('request') ?? ''
  trace?.links.push(requestField)
  const browserHash = hashToken(readCookie(c, 'browser') ?? '')
  const nowMs = clock.nowMs()
  const stored = await findOpenRequest(store.db, { idHash: hashToken(requestField), browserHash, nowMs })
  if (stored !== undefined) {
    c.set('clientId', stored.clientId)
    return { requestField, id: requestField, request: stored, kept: 'in-database', get }
  }
  const decrypted = await decryptRequest(c.get('service'), requestField)
  const isOpen = decrypted?.browserHash === browserHash && decrypted.expiresMs > nowMs
  if (!isOpen) return showTooOld(c)
  trace?.links.push(decrypted.id)
  c.set('clientId', decrypted.clientId)
  return { requestField, id: decrypted.id, request: rowOf(decrypted), kept: 'on-page', get }
}

/** Shows the page for a request that was decided, has expired (`authorizationRequestMs`, 10 minutes), or began before a reset. */
export function showTooOld(c: Context<HttpEnvironment>): Promise<Response> {
  return showError(c, 400, 'This page has been used or is too old. Go back to your application and start again.')
}
