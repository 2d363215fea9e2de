/** @jsxImportSource hono/jsx */
import type { Context } from 'hono'
import type { HttpEnvironment } from '../http/environment.ts'
import type { ClientRecord } from '../store/clients.ts'
import type { PersonRecord } from '../store/people.ts'
import { showPage } from './layout.tsx'

interface ClientsPage {
  admin: { person: PersonRecord; token: string }
  clients: ClientRecord[]
  tenantName: string
}

export function showClients(
  c: Context<HttpEnvironment>,
  { admin, clients, tenantName }: ClientsPage,
): Promise<Response> {
  const children = (
    <>
      <p>
        Tenant <bdi>{tenantName}</bdi>, signed in as {admin.person.email}
      </p>
      <p>
        <a href="/auth/v1/clients/new">Register a client</a>
      </p>
      <ClientTable clients={clients} />
      <form class="aside" method="post" action="/auth/v1/clients/sign-out">
        <input type="hidden" name="token" value={admin.token} />
        <button class="plain" type="submit">
          Sign out
        </button>
      </form>
    </>
  )
  return showPage(c, { status: 200, title: 'API clients', width: 'wide', children })
}

function ClientTable({ clients }: { clients: ClientRecord[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Kind</th>
          <th scope="col">State</th>
          <th scope="col">Client id</th>
        </tr>
      </thead>
      <tbody>
        {clients.map(({ id, name, kind, active }) => (
          <tr>
            <td>
              <a href={`/auth/v1/clients/${id}`}>
                <bdi>{name}</bdi>
              </a>
            </td>
            <td>{kind}</td>
            <td>{active ? 'active' : 'inactive'}</td>
            <td>
              <code>{id}</code>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
