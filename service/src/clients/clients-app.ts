import type { Context } from 'hono'
import { Hono } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { attemptSignIn, refusalOf } from '../sign-in/attempt-sign-in.ts'
import { endSignedIn, startSignedIn } from '../sign-in/sign-in-session.ts'
import { showError } from '../ui/error.tsx'
import { readAdmin, readAdminForm, readSignInForm, signInToken } from './admin.ts'
import { changeActivity, createSecret, retireOneSecret, showOneClient } from './manage-client.ts'
import { registerClient } from './register-client.ts'
import { showClients } from './views/clients.tsx'
import { showClientsSignIn } from './views/clients-sign-in.tsx'
import { showNewClient } from './views/new-client.tsx'

export const clientsPath = '/auth/v1/clients'

/** Serves the pages of the client registry, for an admin of a tenant. */
export function createClientsApp(): Hono<HttpEnvironment> {
  const app = new Hono<HttpEnvironment>()
  app.get('/', listClients)
  app.post('/', registerClient)
  app.post('/sign-in', signInToClients)
  app.post('/sign-out', signOutOfClients)
  app.get('/new', async (c) => {
    const admin = await readAdmin(c)
    return admin instanceof Response
      ? admin
      : showNewClient(c, { token: admin.token, email: admin.account.email, status: 200 })
  })
  app.get('/:clientId', showOneClient)
  app.post('/:clientId/activity', changeActivity)
  app.post('/:clientId/secrets', createSecret)
  app.post('/:clientId/secrets/retire', retireOneSecret)
  return app
}

async function listClients(c: Context<HttpEnvironment>): Promise<Response> {
  const admin = await readAdmin(c)
  if (admin instanceof Response) return admin
  const { store } = c.get('service')
  const { tenantId } = admin.account
  const clients = await store.forTenant(tenantId).clients.list()
  return showClients(c, { admin, clients, tenantName: admin.account.tenantName })
}

async function signInToClients(c: Context<HttpEnvironment>): Promise<Response> {
  const get = await readSignInForm(c)
  if (get instanceof Response) return get
  const attempt = await attemptSignIn(c, { email: get('email') ?? '', password: get('password') ?? '' })
  if (attempt.kind === 'too_long') return showError(c, 422, 'The password is too long. Enter a shorter one.')
  const signedIn = attempt.kind === 'verified' ? await startSignedIn(c, attempt.account) : undefined
  if (signedIn !== undefined) return c.redirect(clientsPath, 303)
  return showClientsSignIn(c, { token: signInToken(c), email: get('email'), ...refusalOf(c, attempt) })
}

async function signOutOfClients(c: Context<HttpEnvironment>): Promise<Response> {
  const form = await readAdminForm(c)
  if (form instanceof Response) return form
  await endSignedIn(c, form.admin)
  return c.redirect(clientsPath, 303)
}
