/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import type { Account } from '../../store/tables/accounts.ts'
import type { ClientRecord } from '../../store/tables/clients.ts'
import { Fact } from '../../ui/fact.tsx'
import { showPage } from '../../ui/layout.tsx'

interface ConsentPage {
  request: string
  token: string
  client: ClientRecord
  account: Account
  redirectUri: string
}

export function showConsent(c: Context<HttpEnvironment>, page: ConsentPage): Promise<Response> {
  const children = (
    <>
      <p>
        <strong>
          <bdi>{page.client.name}</bdi>
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
