/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { parseQuery, type Query } from '../http/messages.ts'
import { pageOriginsOf, registeredPageOrigin } from '../redirect-uris.ts'
import { endSignedIn, readSignedIn } from '../sign-in/browser.ts'
import { findRegisteredClient } from '../store/clients.ts'
import type { Db } from '../store/database.ts'
import { showError, showPage } from '../ui/pages.tsx'
import { isPrefetch, prefetchRefused } from './authorize.ts'
import { sendBack } from './consent.tsx'

/**
 * GET /auth/v1/logout: ends the sign-in of this browser at the service. The tokens of applications stay valid. Redirects to the
 * `post_logout_redirect_uri` of the client `client_id` if its origin is that of a registered redirect URI.
 */
export async function logout(c: Context<HttpEnvironment>): Promise<Response> {
  if (isPrefetch(c)) return showError(c, 403, prefetchRefused)
  const signedIn = await readSignedIn(c)
  if (signedIn !== undefined) await endSignedIn(c, signedIn)
  const returnTo = await returnUrl(c.get('service').store.db, parseQuery(c.req.raw.url))
  if (returnTo !== undefined) return sendBack(c, returnTo)
  const children = <p role="status">You are signed out of this service in this browser.</p>
  return showPage(c, { status: 200, title: 'Signed out', children })
}

async function returnUrl(db: Db, query: Query): Promise<string | undefined> {
  const once = (name: string) => (query.count(name) === 1 ? query.get(name)?.text : undefined)
  const [clientId, sent = ''] = [once('client_id'), once('post_logout_redirect_uri')]
  const client = clientId === undefined ? undefined : await findRegisteredClient(db, clientId)
  if (client === undefined || !URL.canParse(sent)) return undefined
  const { origin, href } = new URL(sent)
  const page = pageOriginsOf(origin)
  const registered = client.redirectUris.map((uri) => registeredPageOrigin(uri, client.kind))
  const isRegistered = page && registered.some((one) => one === page.origin || one === page.anyPort)
  // A blob URL and one with userinfo have the origin too.
  return isRegistered && href.startsWith(`${origin}/`) ? href : undefined
}
