import type { Context } from 'hono'
import { hashToken, randomSecret, randomToken } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import type { SignedIn } from '../sign-in/sign-in-session.ts'
import { readSignedIn } from '../sign-in/sign-in-session.ts'
import { showSignIn } from '../sign-in/views/sign-in.tsx'
import { transact } from '../store/engine/transact.ts'
import type { Db } from '../store/store.ts'
import type { AuthorizationRequestRow } from '../store/tables/authorization-requests.ts'
import {
  bindConsent,
  closeRequest,
  decideRequest,
  deleteOldRequests,
  saveRequest,
} from '../store/tables/authorization-requests.ts'
import type { ClientRecord } from '../store/tables/clients.ts'
import { findApproval, findClient } from '../store/tables/clients.ts'
import { saveCode } from '../store/tables/codes.ts'
import { showError } from '../ui/error.tsx'
import { refusalFields } from './authorization-request.ts'
import type { RequestForm } from './request-form.ts'
import { readRequestForm, showTooOld } from './request-form.ts'
import { callbackUrl, sendBack } from './send-back.ts'
import { showConsent } from './views/consent.tsx'
import { showContinue } from './views/continue.tsx'

interface Asking extends Pick<RequestForm, 'id' | 'request' | 'kept'> {
  signedIn: SignedIn
  /** Present if the browser posted the sign-in form, whose page allows no redirect to the application. */
  from?: 'sign-in form'
  /** The request's client, if it was read just now. */
  client?: ClientRecord
}

/** Shows the consent page, or sends the request's error back now that the user is signed in. Always asks. */
export async function askConsent(c: Context<HttpEnvironment>, asking: Asking): Promise<Response> {
  const { store } = c.get('service')
  const { id, request, kept, signedIn } = asking
  const client = asking.client ?? (await findClient(store.db, request.clientId))
  if (client === undefined) return showTooOld(c)
  const approval = await findApproval(store.db, client.id, signedIn.person.tenantId)
  const refusal = refusalFields(request.refusal, approval)
  if (refusal !== undefined) return refuse(c, asking, refusal)
  if (kept === 'on-page') await saveRequest(store.db, request)
  const token = randomSecret()
  const consent = { idHash: request.idHash, sessionHash: signedIn.sessionHash, consentHash: hashToken(token) }
  if ((await bindConsent(store.db, consent)) === 'decided') return showTooOld(c)
  await deleteOldRequests(store.db, { sessionHash: signedIn.sessionHash, keptIdHash: request.idHash })
  return showConsent(c, { request: id, token, client, person: signedIn.person, redirectUri: request.redirectUri })
}

/** Sends an error back. Nothing is stored: requests of a client that the tenant has not approved would never end. */
async function refuse(
  c: Context<HttpEnvironment>,
  { request, kept, from }: Asking,
  refusal: Record<string, string>,
): Promise<Response> {
  const { store, clock } = c.get('service')
  if (kept === 'in-database') {
    await transact(store.db, (tx) => closeRequest(tx, request.idHash, clock.nowMs()))
  }
  const url = callbackUrl(request.redirectUri, refusal, request.state)
  return from === 'sign-in form' ? showContinue(c, url) : sendBack(c, url)
}

/** POST /auth/v1/consent, field decision. */
export async function consent(c: Context<HttpEnvironment>): Promise<Response> {
  const form = await readRequestForm(c)
  if (form instanceof Response) return form
  const signedIn = await readSignedIn(c)
  if (signedIn === undefined) return showSignIn(c, { request: form.requestField, status: 200 })
  // Only the sign-in form stores what its page carries, so that each stored row costs a password.
  if (form.kept === 'on-page') return showTooOld(c)
  // Another user signed in since the page was shown: ask the one who is signed in now (S-015).
  if (form.request.sessionHash !== signedIn.sessionHash) return askConsent(c, { ...form, signedIn })
  const decision = form.get('decision')
  if (decision !== 'approve' && decision !== 'deny') return showError(c, 400, 'Choose Approve or Deny.')
  return decision === 'approve' ? approve(c, form, signedIn) : deny(c, form, signedIn)
}

async function approve(c: Context<HttpEnvironment>, form: RequestForm, signedIn: SignedIn): Promise<Response> {
  const { store, journal } = c.get('service')
  const { person } = signedIn
  const approval = await findApproval(store.db, form.request.clientId, person.tenantId)
  if (approval !== 'approved') return askConsent(c, { ...form, signedIn })
  const code = randomToken('aac_')
  const result = await transact(store.db, async (tx) => {
    const decided = await decide(c, { tx, form, signedIn })
    if (decided === 'decided') await saveApprovedCode(c, { tx, code, request: form.request, signedIn })
    return decided
  })
  if (result === 'refused') return showTooOld(c)
  journal.event('consent_approved', { clientId: form.request.clientId, personId: person.id, tenant: person.tenantId })
  return sendBack(c, callbackUrl(form.request.redirectUri, { code }, form.request.state))
}

async function deny(c: Context<HttpEnvironment>, form: RequestForm, signedIn: SignedIn): Promise<Response> {
  const { store, journal } = c.get('service')
  const result = await transact(store.db, (tx) => decide(c, { tx, form, signedIn }))
  if (result === 'refused') return showTooOld(c)
  const { person } = signedIn
  journal.event('consent_denied', { clientId: form.request.clientId, personId: person.id, tenant: person.tenantId })
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

/** Saves a code that is bound to everything that was checked when the request came (S-026). */
async function saveApprovedCode(
  c: Context<HttpEnvironment>,
  { tx, code, request, signedIn }: { tx: Db; code: string; request: AuthorizationRequestRow; signedIn: SignedIn },
): Promise<void> {
  const { clock, config } = c.get('service')
  const { clientId, redirectUri, codeChallenge } = request
  await saveCode(tx, {
    hash: hashToken(code),
    clientId,
    redirectUri,
    codeChallenge,
    personId: signedIn.person.id,
    tenantId: signedIn.person.tenantId,
    scope: request.scope,
    expiresMs: clock.nowMs() + config.codeLifeMs,
  })
}
