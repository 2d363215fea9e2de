import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/hono-environment.ts'
import type { Account } from '../store/tables/accounts.ts'
import { findAccountByEmail } from '../store/tables/accounts.ts'
import { findApproval } from '../store/tables/clients.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { refusalFields } from './authorization-request.ts'
import { issueCode } from './issue-code.ts'
import { callbackUrl, sendBack } from './redirect-to-client.ts'

/** Returns the user of `dev.autoApprove`, if it is set and the account may sign in. */
export async function findAutomaticAccount(c: Context<HttpEnvironment>): Promise<Account | undefined> {
  const { autoApproval, store } = c.get('service')
  const email = autoApproval.email()
  const account = email === undefined ? undefined : await findAccountByEmail(store.db, email)
  return account?.active ? account : undefined
}

/** Redirects to the client at once. Only the two pages are left out; the rules of the request and of approval apply. */
export async function approveAtOnce(
  c: Context<HttpEnvironment>,
  { clientId, asked, account }: { clientId: string; asked: AuthorizationRequest; account: Account },
): Promise<Response> {
  const service = c.get('service')
  const { store, journal } = service
  const { redirectUri, state } = asked
  c.set('caller', { personId: account.id })
  const approval = await findApproval(store.db, clientId, account.tenantId)
  const refusal = refusalFields(asked.refusal, approval)
  if (refusal !== undefined) {
    c.set('refusal', refusal.error)
    return sendBack(c, callbackUrl(redirectUri, refusal, state))
  }
  const code = await issueCode(service, { db: store.db, clientId, request: asked, account })
  journal.event('consent_approved', { clientId, personId: account.id, tenant: account.tenantId })
  return sendBack(c, callbackUrl(redirectUri, { code }, state))
}
