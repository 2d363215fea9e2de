import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import { findApproval } from '../store/tables/clients.ts'
import type { PersonRecord } from '../store/tables/people.ts'
import { findPersonByEmail } from '../store/tables/people.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { refusalFields } from './authorization-request.ts'
import { issueCode } from './issue-code.ts'
import { callbackUrl, sendBack } from './send-back.ts'

/** Returns the user of `dev.autoApprove`, if it is set and the account may sign in. */
export async function findAutomaticPerson(c: Context<HttpEnvironment>): Promise<PersonRecord | undefined> {
  const { autoApproval, store } = c.get('service')
  const email = autoApproval.email()
  const person = email === undefined ? undefined : await findPersonByEmail(store.db, email)
  return person?.active ? person : undefined
}

/** Redirects to the client at once. Only the two pages are left out; the rules of the request and of approval apply. */
export async function approveAtOnce(
  c: Context<HttpEnvironment>,
  { clientId, asked, person }: { clientId: string; asked: AuthorizationRequest; person: PersonRecord },
): Promise<Response> {
  const service = c.get('service')
  const { store, journal } = service
  const { redirectUri, state } = asked
  const approval = await findApproval(store.db, clientId, person.tenantId)
  const refusal = refusalFields(asked.refusal, approval)
  if (refusal !== undefined) return sendBack(c, callbackUrl(redirectUri, refusal, state))
  const code = await issueCode(service, { db: store.db, clientId, request: asked, person })
  journal.event('consent_approved', { clientId, personId: person.id, tenant: person.tenantId })
  return sendBack(c, callbackUrl(redirectUri, { code }, state))
}
