/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import type { Account } from '../../store/tables/accounts.ts'
import { Fact } from '../../ui/fact.tsx'
import { showPage } from '../../ui/layout.tsx'

export function showSignOut(
  c: Context<HttpEnvironment>,
  { account, token }: { account: Account; token: string },
): Promise<Response> {
  const children = (
    <>
      <dl>
        <Fact name="Signed in as">{`${account.name} (${account.email})`}</Fact>
        <Fact name="Tenant">{account.tenantName}</Fact>
      </dl>
      <p>After that, each application asks for the password at its next sign-in. Sessions of applications go on.</p>
      <form method="post" action="/auth/v1/sign-out/confirm">
        <input type="hidden" name="token" value={token} />
        <button type="submit">Sign out</button>
      </form>
    </>
  )
  return showPage(c, { status: 200, title: 'Sign out?', children })
}

export function showSignedOut(c: Context<HttpEnvironment>): Promise<Response> {
  const children = <p role="status">You are not signed in with this browser.</p>
  return showPage(c, { status: 200, title: 'Signed out', children })
}
