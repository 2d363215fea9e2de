import type { Context } from 'hono'
import { hashToken, randomSecret } from '../credentials/secrets.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { parseQuery } from '../http/query.ts'
import { lifetimes } from '../lifetimes.ts'
import { askSignIn } from '../sign-in/ask-sign-in.ts'
import { ensureBrowser } from '../sign-in/cookies.ts'
import { readSignedIn } from '../sign-in/sign-in-session.ts'
import type { ClientRecord } from '../store/tables/clients.ts'
import { findRegisteredClient } from '../store/tables/clients.ts'
import { showError } from '../ui/error.tsx'
import type { AuthorizationRequest } from './authorization-request.ts'
import { readAuthorizationRequest, verifiedRedirectUri } from './authorization-request.ts'
import { approveAtOnce, findAutomaticAccount } from './automatic-approval.ts'
import type { CarriedRequest } from './carried-request.ts'
import { encryptRequest, rowOf } from './carried-request.ts'
import { askConsent } from './consent.ts'
import { unregisteredFix, unregisteredText } from './unregistered-redirect.ts'

const unknownClient = 'Unknown client_id. The application that sent you here is not registered.'
const newIds =
  'Was this service restarted without --data, or with other data? Then copy the new .env block into your application.'
export const prefetchRefused = 'Prefetch of this page is not allowed. Open it in the browser.'

/**
 * GET /auth/v1/authorize (RFC 6749 §4.1.1): checks the request, then shows the sign-in page or the consent page. An unknown client
 * or redirect URI gets an error page. Any other fault is sent to the redirect URI, but only once the user is signed in
 * (`askConsent` in consent.ts).
 */
export async function authorize(c: Context<HttpEnvironment>): Promise<Response> {
  // HEAD reaches this handler too, and a prefetch is not a user action (S-011).
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
  if (account !== undefined) return approveAtOnce(c, { clientId: client.id, asked, account })
  const signedIn = await readSignedIn(c)
  const carried = carriedRequest(c, client.id, asked)
  trace?.links.push(carried.id)
  if (signedIn === undefined) {
    const request = await encryptRequest(c.get('service'), carried)
    trace?.links.push(request)
    return askSignIn(c, { request, status: 200 })
  }
  const request = { ...rowOf(carried), carried: 0 as const }
  return askConsent(c, { id: carried.id, request, kept: 'on-page', signedIn, client })
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
