import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import { readAdminForm, registryContext } from './admin.ts'
import { readClientForm } from './client-form.ts'
import { confirmPassword } from './confirm-password.ts'
import { createClient } from './registry.ts'
import { showCredentials } from './views/client-credentials.tsx'
import { showNewClient } from './views/new-client.tsx'

/**
 * POST /auth/v1/clients: fields name, kind, redirect_uris (one a line) and the admin's password. client-form.ts checks the fields: a
 * name has `clientNameCharacters`, 100 at most.
 */
export async function registerClient(c: Context<HttpEnvironment>): Promise<Response> {
  const post = await readAdminForm(c)
  if (post instanceof Response) return post
  const { admin, get } = post
  const shown = { token: admin.token, email: admin.account.email }
  const asked = {
    name: get('name') ?? '',
    kind: get('kind') ?? '',
    redirectUris: (get('redirect_uris') ?? '').split(/\r?\n/).filter((line) => line !== ''),
  }
  const read = readClientForm(asked)
  if (read.kind === 'refused') {
    return showNewClient(c, { ...shown, status: 422, problem: sentence(read.problem), asked })
  }
  const confirmation = await confirmPassword(c, admin, get)
  if (confirmation.kind === 'refused') return showNewClient(c, { ...shown, ...confirmation, asked })
  const created = await createClient(registryContext(c, admin), read.form)
  if (created.kind === 'refused')
    return showNewClient(c, { ...shown, status: 422, problem: sentence(created.problem), asked })
  const credentials = created.value
  const { id: personId, tenantId: tenant } = admin.account
  c.get('service').journal.event('client_created', { clientId: credentials.clientId, personId, tenant })
  return showCredentials(c, { ...credentials, name: read.form.name })
}

function sentence(problem: string): string {
  return `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`
}
