/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/environment.ts'
import type { ClientRecord } from '../../store/tables/clients.ts'
import type { PersonRecord } from '../../store/tables/people.ts'
import { Fact } from '../../ui/fact.tsx'
import { showPage } from '../../ui/layout.tsx'

interface ConsentPage {
  request: string
  token: string
  client: ClientRecord
  person: PersonRecord
  redirectUri: string
}

export function showConsent(c: Context<HttpEnvironment>, page: ConsentPage): Promise<Response> {
  const children = (
    <>
      <p>
        <strong>
          <bdi>{page.client.name}</bdi>
        </strong>{' '}
        asks to act for you.
      </p>
      <dl>
        <Fact name="You">{`${page.person.name} (${page.person.email})`}</Fact>
        <Fact name="Tenant">{page.person.tenantName}</Fact>
        <Fact name="It may (api.access)">use the Agent Management API with your permissions</Fact>
        <Fact name="You return to">{new URL(page.redirectUri).host}</Fact>
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
          Sign in as somebody else
        </button>
      </form>
    </>
  )
  return showPage(c, { status: 200, title: 'Allow access?', formsLead: 'anywhere', children })
}
