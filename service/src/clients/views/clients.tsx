/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../../http/hono-environment.ts'
import type { Account } from '../../store/tables/accounts.ts'
import type { ClientRecord } from '../../store/tables/clients.ts'
import { showPage } from '../../ui/layout.tsx'
import { Table } from '../../ui/table.tsx'

interface ClientsPage {
  admin: { account: Account; token: string }
  clients: ClientRecord[]
  tenantName: string
}

export function showClients(
  c: Context<HttpEnvironment>,
  { admin, clients, tenantName }: ClientsPage,
): Promise<Response> {
  const children = (
    <>
      <div class="bar">
        <p>
          Tenant <bdi>{tenantName}</bdi>, signed in as {admin.account.email}
        </p>
        <a class="button" href="/auth/v1/clients/new">
          Register a client
        </a>
      </div>
      <Table
        label="API clients"
        columns={['Name', 'Kind', 'State', 'Client id']}
        rows={clients.map(({ id, name, kind, active }) => [
          <a href={`/auth/v1/clients/${id}`}>{name}</a>,
          kind,
          active ? 'active' : 'inactive',
          <code>{id}</code>,
        ])}
        empty="No clients yet."
      />
      <form class="bar" method="post" action="/auth/v1/clients/sign-out">
        <input type="hidden" name="token" value={admin.token} />
        <button class="plain" type="submit">
          Sign out
        </button>
      </form>
    </>
  )
  return showPage(c, { status: 200, title: 'API clients', width: 'wide', children })
}
