import type { Context } from 'hono'
import { hashToken, randomSecret, randomToken } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/environment.ts'
import type { StoredFormPost } from '../http/form.ts'
import { readFormPost, storeRequest } from '../http/form.ts'
import type { SignedIn } from '../sign-in/sign-in-session.ts'
import { readSignedIn } from '../sign-in/sign-in-session.ts'
import { showSignIn } from '../sign-in/views/sign-in.tsx'
import { transact } from '../store/engine/transact.ts'
import type { Db } from '../store/store.ts'
import type { AuthorizationRequest } from '../store/tables/authorization-requests.ts'
import { bindConsent, closeRequest, decideRequest, dropOldRequests } from '../store/tables/authorization-requests.ts'
import type { ClientRecord } from '../store/tables/clients.ts'
import { findApproval, findClient } from '../store/tables/clients.ts'
import { saveCode } from '../store/tables/codes.ts'
import { showError } from '../ui/error.tsx'
import { refusalFields } from './authorization-request.ts'
import { callbackUrl } from './redirect-uris.ts'
import { sendBack } from './send-back.ts'
import { showConsent } from './views/consent.tsx'
import { showContinue } from './views/continue.tsx'

interface Asking {
  id: string
  request: AuthorizationRequest
  signedIn: SignedIn
  /** Present if the browser posted the sign-in form, whose page allows no redirect to the application. */
  from?: 'sign-in form'
  /** The request's client, if it was read just now. */
  client?: ClientRecord
}

/** Shows the consent page, or sends the request's error back now that somebody is signed in. Always asks. */
export async function askConsent(c: Context<HttpEnvironment>, asking: Asking): Promise<Response> {
  const { store, clock } = c.get('service')
  const { id, request, signedIn } = asking
  const client = asking.client ?? (await findClient(store.db, request.client_id))
  const tenantId = signedIn.person.tenantId
  const refusal = refusalFields(request.refusal, await findApproval(store.db, request.client_id, tenantId))
  if (client === undefined || refusal !== undefined) {
    await closeRequest(store.db, request.id_hash, clock.nowMs())
    const url = callbackUrl(request.redirect_uri, refusal ?? { error: 'server_error' }, request.state)
    return asking.from === 'sign-in form' ? showContinue(c, url) : sendBack(c, url)
  }
  const token = randomSecret()
  await bindConsent(store.db, {
    idHash: request.id_hash,
    sessionHash: signedIn.sessionHash,
    consentHash: hashToken(token),
  })
  await dropOldRequests(store.db, { sessionHash: signedIn.sessionHash, keptIdHash: request.id_hash })
  return showConsent(c, { request: id, token, client, person: signedIn.person, redirectUri: request.redirect_uri })
}

/** POST /auth/v1/consent, field decision. */
export async function consent(c: Context<HttpEnvironment>): Promise<Response> {
  const sent = await readFormPost(c)
  if (sent instanceof Response) return sent
  const signedIn = await readSignedIn(c)
  if (signedIn === undefined) return showSignIn(c, { request: sent.id, status: 200 })
  const post = await storeRequest(c, sent)
  if (post instanceof Response) return post
  // Somebody else signed in since the page was shown: ask the person who is there now (S-015).
  if (post.request.session_hash !== signedIn.sessionHash) return askConsent(c, { ...post, signedIn })
  const decision = post.get('decision')
  if (decision !== 'approve' && decision !== 'deny') return showError(c, 400, 'Choose to approve or to deny.')
  return decision === 'approve' ? approve(c, post, signedIn) : deny(c, post, signedIn)
}

async function approve(c: Context<HttpEnvironment>, post: StoredFormPost, signedIn: SignedIn): Promise<Response> {
  const { store, journal } = c.get('service')
  const { person } = signedIn
  const approval = await findApproval(store.db, post.request.client_id, person.tenantId)
  if (approval !== 'approved') return askConsent(c, { ...post, signedIn })
  const code = randomToken('aac_')
  const result = await transact(store.db, async (tx) => {
    const decided = await decide(c, { tx, post, signedIn })
    if (decided === 'decided') await saveApprovedCode(c, { tx, code, request: post.request, signedIn })
    return decided
  })
  if (result === 'refused') return usedUp(c)
  journal.event('consent_approved', { clientId: post.request.client_id, personId: person.id, tenant: person.tenantId })
  return sendBack(c, callbackUrl(post.request.redirect_uri, { code }, post.request.state))
}

async function deny(c: Context<HttpEnvironment>, post: StoredFormPost, signedIn: SignedIn): Promise<Response> {
  const { store, journal } = c.get('service')
  const result = await transact(store.db, (tx) => decide(c, { tx, post, signedIn }))
  if (result === 'refused') return usedUp(c)
  const { person } = signedIn
  journal.event('consent_denied', { clientId: post.request.client_id, personId: person.id, tenant: person.tenantId })
  return sendBack(c, callbackUrl(post.request.redirect_uri, { error: 'access_denied' }, post.request.state))
}

function decide(
  c: Context<HttpEnvironment>,
  { tx, post, signedIn }: { tx: Db; post: StoredFormPost; signedIn: SignedIn },
): Promise<'decided' | 'refused'> {
  return decideRequest(tx, {
    idHash: post.request.id_hash,
    sessionHash: signedIn.sessionHash,
    consentHash: hashToken(post.get('token') ?? ''),
    nowMs: c.get('service').clock.nowMs(),
  })
}

/** The code is bound to everything that was verified when the request came in (S-026). */
async function saveApprovedCode(
  c: Context<HttpEnvironment>,
  { tx, code, request, signedIn }: { tx: Db; code: string; request: AuthorizationRequest; signedIn: SignedIn },
): Promise<void> {
  const { clock, config } = c.get('service')
  await saveCode(tx, {
    hash: hashToken(code),
    client_id: request.client_id,
    redirect_uri: request.redirect_uri,
    code_challenge: request.code_challenge,
    person_id: signedIn.person.id,
    tenant_id: signedIn.person.tenantId,
    scope: request.scope,
    expires_ms: clock.nowMs() + config.codeLifeMs,
  })
}

function usedUp(c: Context<HttpEnvironment>): Response | Promise<Response> {
  return showError(c, 400, 'This page has been used. Go back to your application and start again.')
}
