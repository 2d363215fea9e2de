import type { Context } from 'hono'
import { randomSecret } from '../credentials/tokens.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { parseQuery, type Query } from '../http/messages.ts'
import { lifetimes, requestLimits } from '../limits.ts'
import { matchesRegistered } from '../redirect-uris.ts'
import { type CarriedRequest, encryptRequest, ensureBrowser, readSignedIn, rowOf } from '../sign-in/browser.ts'
import { type ClientRecord, findRegisteredClient, type RegisteredClient } from '../store/clients.ts'
import { hashToken } from '../store/database.ts'
import { type Account, findAccountByEmail } from '../store/logins.ts'
import { findApproval } from '../store/tokens.ts'
import { askSignIn, showError } from '../ui/pages.tsx'
import { askConsent, callbackUrl, issueCode, refusalFields, sendBack } from './consent.tsx'
import { unregisteredFix, unregisteredText } from './unregistered-redirect.ts'

/** The parameters of a request of a known client. `refusal` is the error for its redirect URI. */
type AuthorizationRequest = Pick<CarriedRequest, 'redirectUri' | 'scope' | 'state' | 'codeChallenge' | 'refusal'>

type Refusal = 'invalid_request' | 'invalid_scope' | 'unsupported_response_type'

const singleParameters = ['response_type', 'scope', 'state', 'code_challenge', 'code_challenge_method']

/**
 * Returns the redirect URI if it is sent once and registered for this client. Otherwise `authorize` shows a page, because any other would
 * be an open redirect.
 */
function verifiedRedirectUri(query: Query, client: RegisteredClient): string | undefined {
  const sent = query.count('redirect_uri') === 1 ? query.get('redirect_uri')?.text : undefined
  if (sent === undefined || client.redirectUris.includes(sent)) return sent
  return client.redirectUris.some((registered) => matchesRegistered(sent, registered, client.kind)) ? sent : undefined
}

function readAuthorizationRequest(
  query: Query,
  { client, redirectUri }: { client: ClientRecord; redirectUri: string },
): AuthorizationRequest {
  const state = query.count('state') > 1 ? undefined : query.get('state')
  const refusal = findRefusal(query, client) ?? null
  return {
    redirectUri,
    scope: 'api.access',
    state: state?.encoded ?? null,
    // The challenge of a refused request is not checked and not used.
    codeChallenge: refusal === null ? (query.get('code_challenge')?.text ?? null) : null,
    refusal,
  }
}

/**
 * Returns the fault of a request, if there is one, which is sent to the redirect URI once the user is signed in: a repeated parameter, a
 * `state` over the limit, a scope that is not exactly `api.access`. An unknown, missing or repeated `client_id` or
 * `redirect_uri` gets a page.
 */
function findRefusal(query: Query, client: ClientRecord): Refusal | undefined {
  if (!query.isComplete || singleParameters.some((name) => query.count(name) > 1)) return 'invalid_request'
  if ((query.get('state')?.bytes ?? 0) > requestLimits.stateBytes) return 'invalid_request'
  const responseType = query.get('response_type')?.text
  if (responseType === undefined) return 'invalid_request'
  if (responseType !== 'code') return 'unsupported_response_type'
  if (query.get('scope')?.text !== 'api.access') return 'invalid_scope'
  return refuseChallenge(query, client.kind)
}

/** Accepts S256 alone (RFC 7636 §4.2). Only a confidential client may do without PKCE. */
function refuseChallenge(query: Query, kind: ClientRecord['kind']): Refusal | undefined {
  const challenge = query.get('code_challenge')?.text
  const method = query.get('code_challenge_method')?.text
  if (challenge === undefined && method === undefined && kind === 'confidential') return undefined
  const isS256 = method === 'S256' && challenge !== undefined && /^[A-Za-z0-9_-]{43}$/.test(challenge)
  return isS256 ? undefined : 'invalid_request'
}

/** Returns the user of `dev.autoApprove` or `dev.autoDeny`, if one is set and the account may sign in. */
async function findAutomaticAccount(c: Context<HttpEnvironment>): Promise<Account | undefined> {
  const { automatic, store } = c.get('service')
  const { email } = automatic
  const account = email === undefined ? undefined : await findAccountByEmail(store.db, email)
  return account?.active ? account : undefined
}

/** Redirects to the client at once. Only the two pages are left out; the rules of the request and of approval apply. */
async function decideAtOnce(
  c: Context<HttpEnvironment>,
  { clientId, asked, account }: { clientId: string; asked: AuthorizationRequest; account: Account },
): Promise<Response> {
  const service = c.get('service')
  const { store, journal, automatic } = service
  const { redirectUri, state } = asked
  const who = { clientId, personId: account.id, tenant: account.tenantId }
  c.set('caller', { personId: account.id })
  const client = await findApproval(store.db, clientId, account.tenantId)
  const denied = automatic.decision === 'deny' ? { error: 'access_denied' } : undefined
  const refusal = refusalFields(asked.refusal, client?.approval ?? 'client-inactive') ?? denied
  if (refusal !== undefined) {
    if (refusal === denied) journal.event('consent_denied', who)
    c.set('refusal', refusal.error)
    return sendBack(c, callbackUrl(redirectUri, refusal, state))
  }
  const code = await issueCode(service, { db: store.db, clientId, request: asked, account })
  journal.event('consent_approved', who)
  return sendBack(c, callbackUrl(redirectUri, { code }, state))
}

const unknownClient = 'Unknown client_id. The application that sent you here is not registered.'
const newIds =
  'Was this service restarted without --data, or with other data? Then copy the new .env block into your application.'
export const prefetchRefused = 'Prefetch of this page is not allowed. Open it in the browser.'

/**
 * GET /auth/v1/authorize (RFC 6749 §4.1.1): checks the request, then shows the sign-in page or the consent page. An unknown client
 * or redirect URI gets an error page. Any other fault is sent to the redirect URI, but only once the user is signed in.
 */
export async function authorize(c: Context<HttpEnvironment>): Promise<Response> {
  // HEAD reaches this handler too, and a prefetch is not a user action.
  if (c.req.raw.method !== 'GET') return methodNotAllowed(c)
  if (isPrefetch(c)) return showError(c, 403, prefetchRefused)
  const { store, config } = c.get('service')
  const query = parseQuery(c.req.raw.url)
  const clientId = query.count('client_id') === 1 ? query.get('client_id')?.text : undefined
  const client = clientId === undefined ? undefined : await findRegisteredClient(store.db, clientId)
  if (client === undefined) return showError(c, 400, unknownClient, config.dev === 'on' ? [newIds] : [])
  const redirectUri = verifiedRedirectUri(query, client)
  if (redirectUri === undefined) {
    const sent = query.count('redirect_uri') === 1 ? query.get('redirect_uri')?.text : undefined
    const shown = config.dev === 'on' ? client : undefined
    const fixes = unregisteredFix(sent, { authUrl: config.authUrl, client: shown })
    return showError(c, 400, unregisteredText(sent), fixes)
  }
  return begin(c, client, readAuthorizationRequest(query, { client, redirectUri }))
}

async function begin(
  c: Context<HttpEnvironment>,
  client: ClientRecord,
  asked: AuthorizationRequest,
): Promise<Response> {
  const trace = c.get('trace')
  trace?.plain.push(asked.redirectUri)
  c.set('clientId', client.id)
  const account = await findAutomaticAccount(c)
  if (account !== undefined) return decideAtOnce(c, { clientId: client.id, asked, account })
  const signedIn = await readSignedIn(c)
  const carried = carriedRequest(c, client.id, asked)
  trace?.links.push(carried.id)
  if (signedIn === undefined) {
    const request = await encryptRequest(c.get('service'), carried)
    trace?.links.push(request)
    return askSignIn(c, { request, status: 200 })
  }
  const request = { ...rowOf(carried), carried: 0 as const }
  return askConsent(c, { id: carried.id, request, kept: 'on-page', signedIn })
}

function carriedRequest(c: Context<HttpEnvironment>, clientId: string, asked: AuthorizationRequest): CarriedRequest {
  return {
    ...asked,
    id: randomSecret(),
    browserHash: hashToken(ensureBrowser(c)),
    clientId,
    expiresMs: c.get('service').clock.nowMs() + lifetimes.authorizationRequestMs,
  }
}

export function methodNotAllowed(c: Context<HttpEnvironment>): Promise<Response> {
  c.header('Allow', 'GET')
  return showError(c, 405, 'This URL accepts GET only.')
}

export function isPrefetch(c: Context<HttpEnvironment>): boolean {
  return c.req.header('sec-purpose')?.includes('prefetch') === true
}
