/** @jsxImportSource hono/jsx */

import type { Context } from 'hono'
import type { ServiceContext } from '../context.ts'
import { isSecret, randomSecret, randomToken } from '../credentials/tokens.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { Fields } from '../http/messages.ts'
import { requestLimits } from '../limits.ts'
import {
  decryptRequest,
  readCookie,
  readInteractionForm,
  readSignedIn,
  rowOf,
  type SignedIn,
} from '../sign-in/browser.ts'
import { type Db, hashToken, transact } from '../store/database.ts'
import {
  type Account,
  type AuthorizationRequestRow,
  bindConsent,
  closeRequest,
  decideRequest,
  deleteOldRequests,
  findOpenRequest,
} from '../store/logins.ts'
import { type Approval, findApproval, saveCode } from '../store/tokens.ts'
import { unapprovedText } from '../token/oauth-error.ts'
import { askSignIn, Fact, showError, showPage } from '../ui/pages.tsx'

/**
 * Redirects to the application with a code or an error: 302 from a page load, 303 from a form. The URL may have a code, so no cache may store it and no referrer is sent.
 */
export function sendBack(c: Context<HttpEnvironment>, url: string): Response {
  c.header('Cache-Control', 'no-store')
  c.header('Referrer-Policy', 'no-referrer')
  return c.redirect(url, c.req.raw.method === 'POST' ? 303 : 302)
}

/** Adds parameters without changing a byte of the registered text. `state` is percent-encoded already. */
export function callbackUrl(redirectUri: string, parameters: Record<string, string>, state: string | null): string {
  const query = new URLSearchParams(parameters).toString() + (state === null ? '' : `&state=${state}`)
  if (!redirectUri.includes('?')) return `${redirectUri}?${query}`
  // A later `?` is part of a value.
  return /^[^?]*\?(.*&)?$/.test(redirectUri) ? redirectUri + query : `${redirectUri}&${query}`
}

/** The parameters of a callback that reports an error (RFC 6749 §4.1.2.1). */
type RefusalFields = { error: string; error_description?: string }

/** Returns the error parameters of the callback: the fault of the request, or why the client may not act for this user. */
export function refusalFields(refusal: string | null, approval: Approval): RefusalFields | undefined {
  if (refusal !== null) return { error: refusal }
  return approval === 'approved'
    ? undefined
    : { error: 'unauthorized_client', error_description: unapprovedText[approval] }
}

interface Approved {
  db: Db
  clientId: string
  request: Pick<AuthorizationRequestRow, 'redirectUri' | 'codeChallenge' | 'scope'>
  account: Account
}

/** Saves the hash of a code that is bound to everything that was checked when the request came, and returns the code. */
export async function issueCode({ clock, config }: ServiceContext, approved: Approved): Promise<string> {
  const { db, clientId, request, account } = approved
  const code = randomToken('aac_')
  await saveCode(db, {
    hash: hashToken(code),
    clientId,
    redirectUri: request.redirectUri,
    codeChallenge: request.codeChallenge,
    personId: account.id,
    tenantId: account.tenantId,
    scope: request.scope,
    expiresMs: clock.nowMs() + config.codeLifeMs,
  })
  return code
}

/** A form of a page that belongs to an authorization request. */
interface RequestForm {
  /** The field `request`: the id of a stored request, or a request that the sign-in page carries. */
  requestField: string
  /** The id of the request. */
  id: string
  request: AuthorizationRequestRow
  /** Whether the row is in the database, or only on the page. */
  kept: 'in-database' | 'on-page'
  get: Fields
}

/**
 * Reads a form of a page that belongs to an authorization request. The CSRF protection has three
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
  if (isSecret(requestField)) {
    const request = await findOpenRequest(store.db, { idHash: hashToken(requestField), browserHash, nowMs })
    if (request === undefined) return showTooOld(c)
    c.set('clientId', request.clientId)
    return { requestField, id: requestField, request, kept: 'in-database', get }
  }
  const decrypted = await decryptRequest(c.get('service'), requestField)
  const isOpen = decrypted?.browserHash === browserHash && decrypted.expiresMs > nowMs
  if (!isOpen) return showTooOld(c)
  trace?.links.push(decrypted.id)
  c.set('clientId', decrypted.clientId)
  return { requestField, id: decrypted.id, request: rowOf(decrypted), kept: 'on-page', get }
}

/** Shows the page for a request that was decided, has expired, or began before a reset. */
function showTooOld(c: Context<HttpEnvironment>): Promise<Response> {
  return showError(c, 400, 'This page has been used or is too old. Go back to your application and start again.')
}

interface ConsentPage {
  request: string
  token: string
  clientName: string
  account: Account
  redirectUri: string
}

function showConsent(c: Context<HttpEnvironment>, page: ConsentPage): Promise<Response> {
  const children = (
    <>
      <p>
        <strong>
          <bdi>{page.clientName}</bdi>
        </strong>{' '}
        wants to use the Agent Management API on your behalf.
      </p>
      <dl>
        <Fact name="Signed in as">{`${page.account.name} (${page.account.email})`}</Fact>
        <Fact name="Tenant">{page.account.tenantName}</Fact>
        <Fact name="Permission (api.access)">use the API with your permissions</Fact>
        <Fact name="You will be redirected to">{new URL(page.redirectUri).host}</Fact>
      </dl>
      <form class="choices" method="post" action="/auth/v1/consent">
        <input type="hidden" name="request" value={page.request} />
        <input type="hidden" name="token" value={page.token} />
        <button class="late" type="submit" name="decision" value="approve">
          Approve
        </button>
        <button class="plain" type="submit" name="decision" value="deny">
          Deny
        </button>
      </form>
      <form class="aside" method="post" action="/auth/v1/sign-out">
        <input type="hidden" name="request" value={page.request} />
        <button class="link" type="submit">
          Sign in as another user
        </button>
      </form>
    </>
  )
  return showPage(c, { status: 200, title: 'Allow access?', formsLead: 'anywhere', children })
}

/**
 * Goes to the application from a page instead of a redirect, after the sign-in form: Chromium applies form-action to every
 * redirect after a form, and would stop at the application's URL without an error.
 */
function showContinue(c: Context<HttpEnvironment>, url: string): Promise<Response> {
  const children = (
    <p>
      <a href={url}>Continue to the application</a>
    </p>
  )
  return showPage(c, { status: 200, title: 'One moment', forwardTo: url, children })
}

interface Asking extends Pick<RequestForm, 'id' | 'request' | 'kept'> {
  signedIn: SignedIn
  /** Present if the browser posted the sign-in form, whose page allows no redirect to the application. */
  from?: 'sign-in form'
}

/**
 * Shows the consent page, or sends the request's error back now that the user is signed in. It asks at every
 * login, also after an earlier approval. Only `dev.autoApprove` and `dev.autoDeny` leave the pages out.
 * A user of an approved tenant may approve with any permissions: only each call of the API checks `api.access`,
 * and neither this page nor the token endpoint does.
 */
export async function askConsent(c: Context<HttpEnvironment>, asking: Asking): Promise<Response> {
  const { store } = c.get('service')
  const { id, request, kept, signedIn, from } = asking
  const { account, sessionHash } = signedIn
  const client = signedIn.client ?? (await findApproval(store.db, request.clientId, account.tenantId))
  if (client === undefined) return showTooOld(c)
  const refusal = refusalFields(request.refusal, client.approval)
  if (refusal !== undefined) return refuse(c, asking, refusal)
  const token = randomSecret()
  const bound = await bindConsent(store.db, request, { kept, sessionHash, consentHash: hashToken(token) })
  if (bound === 'decided') return showTooOld(c)
  // A session that just began has no older requests.
  if (from === undefined) await deleteOldRequests(store.db, { sessionHash, keptIdHash: request.idHash })
  return showConsent(c, { request: id, token, clientName: client.name, account, redirectUri: request.redirectUri })
}

/** Sends an error back. Nothing is stored: requests of a client that the tenant has not approved would never end. */
async function refuse(
  c: Context<HttpEnvironment>,
  { request, kept, from }: Asking,
  refusal: RefusalFields,
): Promise<Response> {
  c.set('refusal', refusal.error)
  const { store, clock } = c.get('service')
  if (kept === 'in-database') await closeRequest(store.db, request, clock.nowMs())
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
  // Another user signed in since the page was shown: ask the one who is signed in now.
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
  if (signedIn.client?.approval !== 'approved') return askConsent(c, { ...form, signedIn })
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
  return decideRequest(tx, form.request.carried, {
    idHash: form.request.idHash,
    sessionHash: signedIn.sessionHash,
    consentHash: hashToken(form.get('token') ?? ''),
    nowMs: c.get('service').clock.nowMs(),
  })
}
