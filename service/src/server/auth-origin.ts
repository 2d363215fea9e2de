import { type Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { failed } from '../api/envelope.ts'
import { authorize, methodNotAllowed } from '../authorize/authorize.ts'
import { consent } from '../authorize/consent.tsx'
import { logout } from '../authorize/logout.tsx'
import { clientsPath, createClientsApp } from '../clients/clients-app.ts'
import type { ServiceContext } from '../context.ts'
import { recordLogins } from '../dev/record-logins.ts'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { jsonResponse } from '../http/messages.ts'
import { cors, hostGuard, injectFaults, journalRequests, purgeOnRequest, responseHeaders } from '../http/middleware.ts'
import { signIn, signInAs, signOut } from '../sign-in/sign-in.ts'
import { token } from '../token/token-endpoint.ts'
import { showError } from '../ui/pages.tsx'
import { refuseHost, serveHealth, unexpected } from './operations.ts'

const tokenPath = '/auth/v1/token'

/**
 * Creates the authorization host, {auth_url}. A request passes the checks in the order of the calls below. The host is checked before
 * CORS, which only the token path and `/api` have.
 */
export function createAuthApp(service: ServiceContext): Hono<HttpEnvironment> {
  const app = new Hono<HttpEnvironment>()
  app.use(responseHeaders(service, service.config.authUrl))
  serveHealth(app, service)
  app.use(journalRequests('auth'))
  if (service.config.dev === 'on') app.use(recordLogins(service.logins))
  app.use(hostGuard({ origin: service.config.authUrl, names: service.config.allowedHosts }, refuseHost))
  app.use(purgeOnRequest(service))
  // Pages get no CORS headers, because no other origin may read them.
  app.use(tokenPath, cors('POST'))
  // A page whose baseUrl is this origin reads the response that says so.
  app.use('/api/*', cors('GET, POST'))
  app.use(injectFaults('auth'))
  app.get('/auth/v1/authorize', authorize)
  app.all('/auth/v1/authorize', methodNotAllowed)
  app.post('/auth/v1/sign-in', signIn)
  if (service.config.dev === 'on') app.post('/auth/v1/sign-in-as', signInAs)
  app.get('/auth/v1/logout', logout)
  app.post('/auth/v1/sign-out', signOut)
  app.post('/auth/v1/consent', consent)
  app.all(tokenPath, token)
  app.route(clientsPath, createClientsApp())
  const { authUrl, baseUrl, dev } = service.config
  const elsewhere = `This is the authorization server, ${authUrl}. The API is ${baseUrl}.`
  const apiText = `this is the authorization server: set baseUrl to the API${dev === 'on' ? `, ${baseUrl}` : ''}`
  app.all('/api/*', (c) => jsonResponse(c, failed('not_found', apiText), 404))
  app.notFound((c) => showError(c, 404, 'There is no page at this URL.', dev === 'on' ? [elsewhere] : []))
  app.onError((error, c) => fail(c, error))
  return app
}

function fail(c: Context<HttpEnvironment>, error: Error): Response | Promise<Response> {
  if (error instanceof HTTPException) return error.getResponse()
  const found = unexpected(error)
  for (const [name, value] of Object.entries(found.headers)) c.header(name, value)
  if (found.kind === 'broken-off') return new Response(null, { status: found.status })
  const isToken = c.req.path === tokenPath
  c.set('refusal', found.kind === 'unavailable' ? 'temporarily_unavailable' : 'server_error')
  if (found.kind === 'unavailable') {
    if (!isToken) return showError(c, 503, 'The service cannot reach its database. Try again in a moment.')
    const description = 'the database is not available; nothing was changed, try again'
    return jsonResponse(c, { error: 'temporarily_unavailable', error_description: description }, 503)
  }
  c.get('service').telemetry.failure({ id: found.id, requestId: c.get('requestId'), error })
  if (!isToken) return showError(c, 500, `Unexpected error. Try again, or report this id: ${found.id}`)
  return jsonResponse(c, { error: 'server_error', error_description: `unexpected error ${found.id}` }, 500)
}
