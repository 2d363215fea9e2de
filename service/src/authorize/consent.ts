import type { Context } from 'hono'
import { hashToken, randomSecret } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { askSignIn } from '../sign-in/ask-sign-in.ts'
import type { SignedIn } from '../sign-in/sign-in-session.ts'
import { readSignedIn } from '../sign-in/sign-in-session.ts'
import { transact } from '../store/engine/transact.ts'
import type { Db } from '../store/store.ts'
import {
  bindConsent,
  closeRequest,
  decideRequest,
  deleteOldRequests,
  saveRequest,
} from '../store/tables/authorization-requests.ts'
import type { ClientRecord } from '../store/tables/clients.ts'
import { findApproval, findClient } from '../store/tables/clients.ts'
import { showError } from '../ui/error.tsx'
import type { RefusalFields } from './authorization-request.ts'
import { refusalFields } from './authorization-request.ts'
import { issueCode } from './issue-code.ts'
import { callbackUrl, sendBack } from './redirect-to-client.ts'
import type { RequestForm } from './request-form.ts'
import { readRequestForm, showTooOld } from './request-form.ts'
import { showConsent } from './views/consent.tsx'
import { showContinue } from './views/continue.tsx'

interface Asking extends Pick<RequestForm, 'id' | 'request' | 'kept'> {
  signedIn: SignedIn
  /** Present if the browser posted the sign-in form, whose page allows no redirect to the application. */
  from?: 'sign-in form'
  /** The request's client, if it was read just now. */
  client?: ClientRecord
}

/**
 * Shows the consent page, or sends the request's error back now that the user is signed in. It asks at every
 * login, also after an earlier approval. Only `dev.autoApprove` leaves the pages out (automatic-approval.ts).
 * A user of an approved tenant may approve with any permissions: only each call of the API checks `api.access`
 * (`checkAccess` in api/check-access.ts), and neither this page nor the token endpoint does.
 */
export async function askConsent(c: Context<HttpEnvironment>, asking: Asking): Promise<Response> {
  const { store } = c.get('service')
  const { id, request, kept, signedIn } = asking
  const client = asking.client ?? (await findClient(store.db, request.clientId))
  if (client === undefined) return showTooOld(c)
  const approval = await findApproval(store.db, client.id, signedIn.account.tenantId)
  const refusal = refusalFields(request.refusal, approval)
  if (refusal !== undefined) return refuse(c, asking, refusal)
  if (kept === 'on-page') await saveRequest(store.db, request)
  const token = randomSecret()
  const consent = { idHash: request.idHash, sessionHash: signedIn.sessionHash, consentHash: hashToken(token) }
  if ((await bindConsent(store.db, consent)) === 'decided') return showTooOld(c)
  await deleteOldRequests(store.db, { sessionHash: signedIn.sessionHash, keptIdHash: request.idHash })
  return showConsent(c, { request: id, token, client, account: signedIn.account, redirectUri: request.redirectUri })
}

/** Sends an error back. Nothing is stored: requests of a client that the tenant has not approved would never end. */
async function refuse(
  c: Context<HttpEnvironment>,
  { request, kept, from }: Asking,
  refusal: RefusalFields,
): Promise<Response> {
  c.set('refusal', refusal.error)
  const { store, clock } = c.get('service')
  if (kept === 'in-database') {
    await transact(store.db, (tx) => closeRequest(tx, request.idHash, clock.nowMs()))
  }
  const url = callbackUrl(request.redirectUri, refusal, request.state)
  return from === 'sign-in form' ? showContinue(c, url) : sendBack(c, url)
}

/** POST /auth/v1/consent, field decision. `readRequestForm` says what the form must prove. */
export async function consent(c: Context<HttpEnvironment>): Promise<Response> {
  const form = await readRequestForm(c)
  if (form instanceof Response) return form
  const signedIn = await readSignedIn(c)
  if (signedIn === undefined) return askSignIn(c, { request: form.requestField, status: 200 })
  // Only the sign-in form stores what its page carries, so that each stored row costs a password.
  if (form.kept === 'on-page') return showTooOld(c)
  // Another user signed in since the page was shown: ask the one who is signed in now (S-015).
  if (form.request.sessionHash !== signedIn.sessionHash) return askConsent(c, { ...form, signedIn })
  const decision = form.get('decision')
  if (decision !== 'approve' && decision !== 'deny') return showError(c, 400, 'Choose Approve or Deny.')
  return decision === 'approve' ? approve(c, form, signedIn) : deny(c, form, signedIn)
}

async function approve(c: Context<HttpEnvironment>, form: RequestForm, signedIn: SignedIn): Promise<Response> {
  const service = c.get('service')
  const { store, journal } = service
  const { account } = signedIn
  const { clientId, redirectUri, state } = form.request
  const approval = await findApproval(store.db, clientId, account.tenantId)
  if (approval !== 'approved') return askConsent(c, { ...form, signedIn })
  const code = await transact(store.db, async (tx) => {
    const result = await decide(c, { tx, form, signedIn })
    return result === 'decided' ? issueCode(service, { db: tx, clientId, request: form.request, account }) : undefined
  })
  if (code === undefined) return showTooOld(c)
  journal.event('consent_approved', { clientId, personId: account.id, tenant: account.tenantId })
  return sendBack(c, callbackUrl(redirectUri, { code }, state))
}

async function deny(c: Context<HttpEnvironment>, form: RequestForm, signedIn: SignedIn): Promise<Response> {
  const { store, journal } = c.get('service')
  const result = await transact(store.db, (tx) => decide(c, { tx, form, signedIn }))
  if (result === 'refused') return showTooOld(c)
  const { account } = signedIn
  journal.event('consent_denied', { clientId: form.request.clientId, personId: account.id, tenant: account.tenantId })
  c.set('refusal', 'access_denied')
  return sendBack(c, callbackUrl(form.request.redirectUri, { error: 'access_denied' }, form.request.state))
}

function decide(
  c: Context<HttpEnvironment>,
  { tx, form, signedIn }: { tx: Db; form: RequestForm; signedIn: SignedIn },
): Promise<'decided' | 'refused'> {
  return decideRequest(tx, {
    idHash: form.request.idHash,
    sessionHash: signedIn.sessionHash,
    consentHash: hashToken(form.get('token') ?? ''),
    nowMs: c.get('service').clock.nowMs(),
  })
}
